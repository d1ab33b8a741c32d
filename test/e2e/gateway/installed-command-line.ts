import { execFile, spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { until } from '../../../lab/operator/until.ts';
import { buildCommandLine } from '../../../tools/bundle/build-command-line.ts';

interface Options {
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Of a command that goes on. */
interface Going {
  /** Standard output and standard error so far. */
  readonly said: () => string;
  readonly code: Promise<number>;
}

type Env = Readonly<Record<string, string>>;

/** The bundle of the command line, as npm installs it, with the Node of this test. Gives people with a shell. */
export async function installCommandLine(
  folder: string,
  kubectl: string,
): Promise<(name: string, env?: Env) => PersonAtShell> {
  const bin = path.join(folder, 'bin');
  mkdirSync(bin, { recursive: true });
  const bundle = path.join(folder, 'latchkey.cjs');
  await buildCommandLine(bundle);
  const programs = {
    latchkey: `exec "${process.execPath}" "${bundle}" "$@"`,
    'kubectl-latchkey': `exec "${process.execPath}" "${bundle}" "$@"`,
    // The test plays the browser.
    'xdg-open': 'printf %s "$1" > "$HOME/opened.new"; mv "$HOME/opened.new" "$HOME/opened"',
  };
  for (const [name, text] of Object.entries(programs))
    writeFileSync(path.join(bin, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  const found = [bin, path.dirname(kubectl), process.env['PATH']].join(':');
  return (name, env = {}) => new PersonAtShell(path.join(folder, name), { PATH: found, ...env });
}

/** A person, or a pipeline, with a home of their own. */
export class PersonAtShell {
  readonly home: string;
  readonly kubeconfig: string;
  readonly #env: Env;

  constructor(home: string, env: Env) {
    mkdirSync(home, { recursive: true });
    this.home = home;
    this.kubeconfig = path.join(home, 'kubeconfig');
    this.#env = {
      HOME: home,
      KUBECONFIG: this.kubeconfig,
      KUBECACHEDIR: path.join(home, 'kube-cache'),
      ...env,
    };
  }

  async run(program: string, args: readonly string[], { input = '', env = {} }: Options = {}) {
    const { promise, resolve } = Promise.withResolvers<{ code: number; stdout: string; stderr: string }>();
    const child = execFile(
      program,
      args,
      { env: { ...this.#env, ...env }, timeout: 60_000 },
      (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr }),
    );
    child.stdin?.on('error', () => undefined).end(input);
    return await promise;
  }

  async latchkey(line: string, options: Options = {}) {
    return await this.run('latchkey', line.split(' '), options);
  }

  async kubectl(line: string, options: Options = {}) {
    return await this.run('kubectl', line.split(' '), options);
  }

  /** Starts a command that waits for something. */
  start(line: string): Going {
    return this.#start('latchkey', line.split(' '));
  }

  /** `latchkey` at a terminal, which a pipe is not. */
  startInTerminal(line: string): Going {
    return this.#start('script', [
      '--quiet',
      '--return',
      '--flush',
      '--command',
      `latchkey ${line}`,
      '/dev/null',
    ]);
  }

  startKubectl(args: readonly string[]): Going {
    return this.#start('kubectl', args);
  }

  #start(program: string, args: readonly string[]): Going {
    const child = spawn(program, args, { env: this.#env, stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => {
        said += String(chunk);
      });
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    child.once('error', reject).once('close', (code) => resolve(code ?? 1));
    return { said: () => said, code: promise };
  }

  /** The address that a command had a browser open. */
  async openedPage(): Promise<string> {
    return await until('a browser is opened', async () => readIfThere(path.join(this.home, 'opened')));
  }

  /** Files of the command line itself, with what others on the machine may do with them. */
  ownFiles(): readonly { readonly file: string; readonly mode: number }[] {
    return readdirSync(this.home, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\/\.(?:config|cache)\/latchkey$/.test(entry.parentPath))
      .map(({ parentPath, name }) => path.join(parentPath, name))
      .map((file) => ({ file, mode: statSync(file).mode & 0o777 }));
  }

  /** As if the cached keys had come to the time of their renewal. */
  ageCache(): void {
    for (const { file } of this.ownFiles().filter(({ file: name }) => /\/\.cache\/.*\.json$/.test(name))) {
      const cached = JSON.parse(readFileSync(file, 'utf8'));
      writeFileSync(file, JSON.stringify({ ...cached, renewAt: Date.now() - 1 }));
    }
  }

  /** The key of the last login. */
  sessionKey(): string {
    const file = path.join(this.home, '.config/latchkey/sessions.json');
    return JSON.parse(readFileSync(file, 'utf8')).sessions.at(-1).key;
  }
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
