import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface, type Interface } from 'node:readline';
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

interface Running {
  readonly started: PromiseWithResolvers<number>;
  readonly exited: PromiseWithResolvers<number>;
}

type GuardChild = ChildProcessByStdio<Writable, Readable, null>;

const scriptPath = path.join(import.meta.dirname, 'guard.sh');
const killedExitCode = 137;

/**
 * Owns a temporary folder and the processes that work in it. Both go when `stop` is called, and when this process
 * ends in whatever way, SIGKILL included. See guard.sh.
 */
export class Guard {
  /** Private to the user (mode 0700), removed at the end. */
  readonly folder: string;
  readonly #child: GuardChild;
  readonly #running = new Map<string, Running>();
  readonly #ended: Promise<void>;
  #linked: PromiseWithResolvers<boolean> | undefined;
  #stopping = false;

  /**
   * @param label for people, in the name of the folder; letters, digits and dashes
   * @param parent where the folder is made; default: the system's folder for temporary files
   * @throws Error when the folder cannot be made.
   */
  static async start(label: string, parent: string = tmpdir()): Promise<Guard> {
    requireSimpleName(label);
    // A session of its own: Ctrl-C in a terminal reaches the owner, and the guard acts once the owner is gone.
    const child = spawn('/bin/sh', [scriptPath, label, parent], {
      stdio: ['pipe', 'pipe', 'inherit'],
      detached: true,
    });
    const lines = createInterface({ input: child.stdout });
    const folder = await new Promise<string>((resolve, reject) => {
      lines.once('line', (line) => resolve(line.replace(/^folder /, '')));
      child.once('error', reject);
      child.once('exit', () => reject(new Error(`cannot make a temporary folder in ${parent}`)));
    });
    return new Guard(child, lines, folder);
  }

  private constructor(child: GuardChild, lines: Interface, folder: string) {
    this.folder = folder;
    this.#child = child;
    // A write may meet a guard that somebody killed; `#afterEnd` deals with that.
    child.stdin.on('error', () => undefined);
    lines.on('line', (line) => this.#answer(line));
    this.#ended = once(child, 'exit').then(async () => await this.#afterEnd());
  }

  /** Starts a program. @throws Error when the guard has ended or the name is in use. */
  async run(spec: ProcessSpec): Promise<GuardedProcess> {
    requireSimpleName(spec.name);
    if (this.#running.has(spec.name))
      throw new Error(`process name "${spec.name}" is in use, choose another`);
    this.#requireAlive();
    const running = {
      started: Promise.withResolvers<number>(),
      exited: Promise.withResolvers<number>(),
    };
    // The guard may end before anybody waits for this.
    running.started.promise.catch(() => undefined);
    this.#running.set(spec.name, running);
    await this.#writeScript(spec);
    this.#child.stdin.write(`start ${spec.name} ${Math.ceil((spec.graceSeconds ?? 10) * 10)}\n`);
    return {
      name: spec.name,
      pid: await running.started.promise,
      logPath: path.join(this.folder, `${spec.name}.log`),
      exited: running.exited.promise,
    };
  }

  /**
   * Makes a symbolic link to the folder, which goes when the folder goes; one link for each guard.
   * Resolves to false when something is there already.
   */
  async link(file: string): Promise<boolean> {
    this.#requireAlive();
    this.#linked = Promise.withResolvers<boolean>();
    this.#child.stdin.write(`link ${file}\n`);
    return await this.#linked.promise;
  }

  /** Ends the processes, the last started first, and removes the folder. Safe to call more than once. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#child.stdin.end();
    await this.#ended;
  }

  async #writeScript(spec: ProcessSpec): Promise<void> {
    const file = path.join(this.folder, `${spec.name}.sh`);
    await writeFile(file, script(spec), { mode: 0o600 }).catch((cause: unknown) => {
      throw new Error('the guard has ended', { cause });
    });
  }

  #requireAlive(): void {
    if (this.#stopping || this.#child.exitCode !== null || this.#child.signalCode !== null) {
      throw new Error('the guard has ended');
    }
  }

  #answer(line: string): void {
    const [event, subject = '', value] = line.split(' ');
    if (event === 'linked') this.#linked?.resolve(subject === 'yes');
    if (event === 'started') this.#running.get(subject)?.started.resolve(Number(value));
    if (event === 'exited') {
      this.#running.get(subject)?.exited.resolve(Number(value));
      this.#running.delete(subject);
    }
  }

  async #afterEnd(): Promise<void> {
    // Somebody killed the guard itself: what it would have done is left to us.
    if (this.#child.signalCode !== null && this.#child.pid !== undefined) killGroup(this.#child.pid);
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
    for (const { started, exited } of this.#running.values()) {
      started.reject(new Error('the guard has ended'));
      exited.resolve(killedExitCode);
    }
    this.#linked?.resolve(false);
  }
}

function requireSimpleName(name: string): void {
  if (!/^[A-Za-z0-9-]+$/.test(name)) throw new Error(`name "${name}": use letters, digits and dashes only`);
}

function killGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // No process of the group is left.
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
