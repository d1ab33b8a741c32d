import { execFile, spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ControlPlaneAccess } from '../../lab/controlplane/access.ts';
import { until } from '../../lab/operator/until.ts';
import type { OpenIDProvider } from '../../lab/provider/provider.ts';
import { buildCommandLine } from '../bundle/build-command-line.ts';
import type { DemoGateway } from './gateway.ts';

/** The command `latchkey` as people have it in their path. */
export interface CommandLine {
  /** Holds it, and goes into the path. */
  readonly bin: string;
  /** For homes of people that the demo plays. */
  readonly homes: string;
  readonly kubectlFolder: string;
}

/**
 * Builds it, with a script around it that trusts the authorities of the demo. What it keeps stays in the folder of the demo, also where a
 * reader runs it.
 */
export async function installCommandLine(
  { folder, binaries }: ControlPlaneAccess,
  gateway: DemoGateway,
  provider: OpenIDProvider,
): Promise<CommandLine> {
  const [bin, homes] = [path.join(folder, 'bin'), path.join(folder, 'homes')];
  await Promise.all([bin, homes].map(async (one) => await mkdir(one)));
  const bundle = path.join(folder, 'latchkey.cjs');
  await buildCommandLine(bundle);
  const script = [
    '#!/bin/sh',
    `case $HOME in '${homes}'/*) home=$HOME ;; *) home='${homes}/reader' ;; esac`,
    'export XDG_CONFIG_HOME=$home/.config XDG_CACHE_HOME=$home/.cache',
    `export LATCHKEY_CERTIFICATE_AUTHORITY='${gateway.caFile}' NODE_EXTRA_CA_CERTS='${provider.caFile}'`,
    `exec '${process.execPath}' '${bundle}' "$@"`,
  ];
  await writeFile(path.join(bin, 'latchkey'), `${script.join('\n')}\n`, { mode: 0o755 });
  return { bin, homes, kubectlFolder: path.dirname(binaries.kubectl) };
}

/** Something that a person did in a terminal, and what they read there. */
export interface Step {
  readonly command: string;
  readonly said: readonly string[];
}

/** A command that goes on until it is ended. */
export interface Going {
  /** Types a line. Resolves with all that the command has said, as soon as the text is in it. */
  readonly type: (line: string, text: string) => Promise<readonly string[]>;
  /** Resolves with all that it said. Rejects when nothing ends it. */
  readonly ended: Promise<readonly string[]>;
}

export interface RunOptions {
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Exit code 0 by default. */
  readonly fails?: boolean;
}

/** For a command that something else ends. */
const openMs = 60_000;

/** A person at a terminal of their own. */
export class Terminal {
  readonly #home: string;
  readonly #env: Readonly<Record<string, string>>;
  readonly #signal: AbortSignal;

  /** `signal` ends what runs in it. */
  constructor({ bin, homes, kubectlFolder }: CommandLine, name: string, signal: AbortSignal) {
    this.#signal = signal;
    this.#home = path.join(homes, name);
    this.#env = {
      HOME: this.#home,
      KUBECONFIG: this.file('kubeconfig'),
      KUBECACHEDIR: this.file('kube-cache'),
      PATH: [bin, kubectlFolder, process.env['PATH']].join(':'),
    };
  }

  file(name: string): string {
    return path.join(this.#home, name);
  }

  async begin(): Promise<void> {
    await mkdir(this.#home);
  }

  /** Runs a command in the home. @throws Error with what it said when it ends otherwise than wanted. */
  async run(command: string, { input = '', env = {}, fails = false }: RunOptions = {}): Promise<Step> {
    const [program = '', ...args] = command.replace(/ < \S+$/, '').split(' ');
    const { promise, resolve } = Promise.withResolvers<{ failed: boolean; said: string }>();
    const options = { ...this.#place, env: { ...this.#env, ...env }, timeout: 30_000 };
    const child = execFile(program, args, options, (error, stdout, stderr) =>
      resolve({ failed: error !== null, said: `${stdout}${stderr}` }),
    );
    child.stdin?.on('error', () => undefined).end(input);
    const { failed, said } = await promise;
    if (failed !== fails) throw new Error(`${command} ${failed ? 'failed' : 'did not fail'}:\n${said}`);
    return { command, said: linesOf(said) };
  }

  /** Runs a command that waits for the person, who answers what it says. */
  async runWith(command: string, answer: (said: string) => Promise<boolean>): Promise<Step> {
    const { child, said, closed } = this.#spawn(command);
    child.stdin.end();
    try {
      await until(`${command} asks`, async () => await answer(said()), { timeoutMs: 20_000, seen: said });
      if ((await closed) !== 0) throw new Error(`${command} failed:\n${said()}`);
    } finally {
      child.kill();
    }
    return { command, said: linesOf(said()) };
  }

  /** Begins a command that the person types into. */
  open(command: string): Going {
    const { child, said, closed } = this.#spawn(command, openMs);
    const type = async (line: string, text: string): Promise<readonly string[]> => {
      child.stdin.write(`${line}\n`);
      await until(`${command} says ${text}`, async () => said().includes(text), {
        ...{ timeoutMs: 20_000, seen: said },
      });
      return linesOf(said());
    };
    const ended = closed.then((code) => {
      if (code === null) throw new Error(`nothing ended ${command}:\n${said()}`);
      return linesOf(said());
    });
    ended.catch(() => undefined);
    return { type, ended };
  }

  #spawn(command: string, timeout?: number) {
    const [program = '', ...args] = command.split(' ');
    const child = spawn(program, args, { ...this.#place, env: this.#env, timeout });
    child.stdin.on('error', () => undefined);
    let text = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => {
        text += String(chunk);
      });
    const { promise: closed, resolve } = Promise.withResolvers<number | null>();
    // After an error, such as our own signal, it may close never.
    child.once('error', () => resolve(null)).once('close', resolve);
    return { child, said: () => text, closed };
  }

  get #place() {
    return { cwd: this.#home, signal: this.#signal, killSignal: 'SIGKILL' } as const;
  }
}

const linesOf = (text: string): readonly string[] => text.split('\n').filter((line) => line !== '');
