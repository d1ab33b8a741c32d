import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runCommandLine } from '../../src/cli/run.ts';
import type { Answer, Context, ProgramResult, SentRequest } from '../../src/cli/shared/context.ts';

export const baseURL = 'https://latchkey.example.com';
/** Whole, and of no one. */
export const aKey = 'lk_00000000000000000000000000000000000000000002eJTI4';

/** The answer of a fake gateway, or of a provider: by method and path, or by a function. */
export type Answers = Readonly<
  Record<string, object | number | ((request: SentRequest) => object | number | Promise<object | number>)>
>;

export const statusOf = (code: number, message: string): object => ({
  ...{ kind: 'Status', apiVersion: 'v1', status: 'Failure', message, code },
});

export interface CommandLineOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly answers?: Answers;
  readonly stdin?: string;
  readonly isTTY?: boolean;
  readonly platform?: NodeJS.Platform;
  readonly run?: Context['run'];
  readonly send?: Context['send'];
  readonly now?: () => number;
  readonly ppid?: number;
  readonly signal?: AbortSignal;
}

/** A person at a terminal with a home of their own. Call `end`. */
export class Person {
  readonly home = mkdtempSync(path.join(tmpdir(), 'latchkey-cli-'));
  readonly sent: SentRequest[] = [];

  /** Runs `latchkey` with these words, in one text as people type it, or each for itself. */
  async run(line: string | readonly string[], options: CommandLineOptions = {}) {
    const words = typeof line === 'string' ? wordsOf(line) : line;
    const [out, err]: string[][] = [[], []];
    const context: Context = {
      env: { HOME: this.home, ...options.env },
      platform: options.platform ?? 'linux',
      ppid: options.ppid ?? 4_711,
      stdin: { isTTY: options.stdin === undefined, read: async () => options.stdin ?? '' },
      stdout: { isTTY: options.isTTY ?? false, write: (text) => void out?.push(text) },
      stderr: { isTTY: options.isTTY ?? false, write: (text) => void err?.push(text) },
      now: options.now ?? Date.now,
      send: options.send ?? (async (request) => await this.#answer(request, options.answers ?? {})),
      run: options.run ?? noProgram,
      signal: options.signal ?? new AbortController().signal,
    };
    const code = await runCommandLine(words, context);
    return { code, stdout: out?.join('') ?? '', stderr: err?.join('') ?? '' };
  }

  write(name: string, text: string, mode = 0o600): string {
    const file = path.join(this.home, name);
    writeFileSync(file, text, { mode });
    return file;
  }

  end(): void {
    rmSync(this.home, { recursive: true, force: true });
  }

  async #answer(request: SentRequest, answers: Answers): Promise<Answer> {
    this.sent.push(request);
    const { pathname, search } = new URL(request.url);
    const own = pathname.replace('/kubernetes/management/apis/management.platform.sh/v1', '');
    const found = answers[`${request.method} ${own}${search}`] ?? answers[`${request.method} ${own}`];
    const given = typeof found === 'function' ? await found(request) : found;
    if (given === undefined) return toAnswer(404, statusOf(404, `there is no ${own}`));
    if (typeof given === 'number') return toAnswer(given, statusOf(given, `status ${given}`));
    const { code, kind, error } = given as {
      readonly code?: unknown;
      readonly kind?: unknown;
      readonly error?: unknown;
    };
    // As providers of OAuth say no.
    if (typeof error === 'string') return toAnswer(400, given);
    return toAnswer(kind === 'Status' && typeof code === 'number' ? code : 200, given);
  }
}

export const toAnswer = (status: number, body: object): Answer => ({
  status,
  headers: { 'content-type': 'application/json' },
  text: JSON.stringify(body),
});

const noProgram = async (program: string): Promise<ProgramResult> => {
  throw Object.assign(new Error(`spawn ${program} ENOENT`), { code: 'ENOENT' });
};

/** As a shell splits a line, without what the examples do not use. */
export function wordsOf(line: string): readonly string[] {
  return [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, one, other, word]) => one ?? other ?? word ?? '',
  );
}

export const selfOf = (status: object = {}): object => ({
  kind: 'Self',
  status: {
    ...{
      subject: 'alice',
      groups: ['system:authenticated'],
      accessKey: 'mine',
      projectNamespacePrefix: 'p-',
    },
    ...{ credential: { kind: 'OwnedAccessKey', name: 'mine' }, scopes: [], ...status },
  },
});
