import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';

/** A program to run under a guard. */
export interface ProcessSpec {
  /** Unique within the guard; letters, digits and dashes. Names the log file too. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Added to the environment of the owner. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Seconds between SIGTERM and SIGKILL when the guard ends; 0 sends SIGKILL at once. Default: 10. */
  readonly graceSeconds?: number;
}

export interface GuardedProcess {
  readonly name: string;
  readonly pid: number;
  /** Standard output and standard error together. */
  readonly logPath: string;
  /** Exit code as a shell sees it: 128 + signal number after a signal. Never rejects. */
  readonly exited: Promise<number>;
}

interface Pending {
  started(pid: number): void;
  exited(code: number): void;
  failed(error: Error): void;
}

type GuardChild = ChildProcessByStdio<Writable, Readable, null>;

/**
 * Owns a temporary folder and the processes that work in it. Both go when `stop` is called, and when this process
 * ends in whatever way, SIGKILL included. See guard.sh.
 */
export class Guard {
  /** Private to the user (mode 0700), removed at the end. */
  readonly folder: string;
  readonly #child: GuardChild;
  readonly #pending = new Map<string, Pending>();
  readonly #gone: Promise<void>;
  #stopping = false;

  /** @throws Error when no shell can be started or the temporary folder cannot be made. */
  static async start(label: string): Promise<Guard> {
    const script = path.join(import.meta.dirname, 'guard.sh');
    // A session of its own: Ctrl-C in a terminal reaches the owner, and the guard acts once the owner is gone.
    const child = spawn('/bin/sh', [script, label], { stdio: ['pipe', 'pipe', 'inherit'], detached: true });
    const lines = createInterface({ input: child.stdout });
    const folder = await new Promise<string>((resolve, reject) => {
      lines.once('line', (line) => resolve(line.replace(/^folder /, '')));
      child.once('error', reject);
      child.once('exit', (code) =>
        reject(new Error(`the guard ended with code ${code} before it was ready`)),
      );
    });
    return new Guard(child, lines, folder);
  }

  private constructor(child: GuardChild, lines: ReturnType<typeof createInterface>, folder: string) {
    this.folder = folder;
    this.#child = child;
    // A write may meet a guard that was killed; `#lost` deals with that.
    child.stdin.on('error', () => undefined);
    lines.on('line', (line) => this.#answer(line));
    this.#gone = once(child, 'close').then(() => this.#lost());
  }

  /** Starts a program. @throws Error when the guard is gone or the name is taken. */
  async run(spec: ProcessSpec): Promise<GuardedProcess> {
    if (!/^[A-Za-z0-9-]+$/.test(spec.name))
      throw new Error(`process name "${spec.name}": use letters, digits, dashes`);
    if (this.#pending.has(spec.name)) throw new Error(`process name "${spec.name}" is taken, choose another`);
    if (this.#stopping || this.#child.exitCode !== null) throw new Error('the guard has ended');
    let report: Pending | undefined;
    const exited = new Promise<number>((resolve) => {
      report = { exited: resolve, started: () => undefined, failed: () => undefined };
    });
    const started = new Promise<number>((resolve, reject) => {
      this.#pending.set(spec.name, { ...(report as Pending), started: resolve, failed: reject });
    });
    await writeFile(path.join(this.folder, `${spec.name}.sh`), script(spec), { mode: 0o600 });
    this.#child.stdin.write(`start ${spec.name} ${Math.ceil((spec.graceSeconds ?? 10) * 10)}\n`);
    return {
      name: spec.name,
      pid: await started,
      logPath: path.join(this.folder, `${spec.name}.log`),
      exited,
    };
  }

  /** Ends the processes, the last started first, and removes the folder. Safe to call more than once. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#child.stdin.end();
    await this.#gone;
  }

  #answer(line: string): void {
    const [event, name = '', value] = line.split(' ');
    if (event === 'started') this.#pending.get(name)?.started(Number(value));
    if (event === 'exited') this.#pending.get(name)?.exited(Number(value));
  }

  /** Also runs when somebody killed the guard itself: its process group and folder are ours to remove then. */
  async #lost(): Promise<void> {
    if (this.#child.pid !== undefined && this.#child.signalCode !== null) killGroup(this.#child.pid);
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
    for (const { failed, exited } of this.#pending.values()) {
      failed(new Error('the guard has ended'));
      exited(137);
    }
  }
}

function killGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // Nobody of the group is left.
  }
}

function script(spec: ProcessSpec): string {
  const env = Object.entries(spec.env ?? {}).map(([name, value]) => `export ${name}=${quote(value)}\n`);
  const cwd = spec.cwd === undefined ? '' : `cd ${quote(spec.cwd)} || exit 1\n`;
  return `${env.join('')}${cwd}exec ${[spec.command, ...spec.args].map(quote).join(' ')}\n`;
}

function quote(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
