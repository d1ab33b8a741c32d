import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { usageOf } from './process-usage.ts';
import type { Sample } from './rounds.ts';
import type { WorkDone, WorkOrder } from './worker-process.ts';

const program = fileURLToPath(new URL('./worker-process.ts', import.meta.url));

export interface WorkerOptions {
  /** In the table. */
  readonly name: string;
  /** The module that exports `works`. */
  readonly module: URL;
  /** Which of its works. */
  readonly work: string;
  /** Operations at once, where they are asynchronous. */
  readonly concurrency: number;
}

/** The columns of a worker. */
export const workMeasures = [
  { key: 'rate', title: 'operations a second' },
  { key: 'cpu', title: 'CPU, µs an operation' },
] as const;

/** A process that does one kind of work when it is told to. */
export class Worker {
  readonly name: string;
  readonly #child: ChildProcess;

  static async start({ name, module, work, concurrency }: WorkerOptions): Promise<Worker> {
    const child = fork(program, [module.href, work, String(concurrency)]);
    await answer(child);
    return new Worker(child, name);
  }

  private constructor(child: ChildProcess, name: string) {
    this.#child = child;
    this.name = name;
  }

  async measure(seconds: number): Promise<Sample> {
    const before = await this.#cpuSeconds();
    const done = await this.work(seconds);
    const cpu = (await this.#cpuSeconds()) - before;
    return { rate: done.operations / done.seconds, cpu: (cpu * 1e6) / done.operations };
  }

  async work(seconds: number): Promise<WorkDone> {
    this.#child.send({ seconds } satisfies WorkOrder);
    return (await answer(this.#child)) as WorkDone;
  }

  end(): void {
    if (this.#child.connected) this.#child.disconnect();
  }

  async #cpuSeconds(): Promise<number> {
    return (await usageOf(this.#child.pid ?? 0)).cpuSeconds;
  }
}

async function answer(child: ChildProcess): Promise<unknown> {
  const ended = new AbortController();
  const { signal } = ended;
  try {
    const exited = once(child, 'exit', { signal }).then(([code]) => {
      throw new Error(`the process of a benchmark ended with code ${code}`);
    });
    const [message] = await Promise.race([once(child, 'message', { signal }), exited]);
    return message;
  } finally {
    ended.abort();
  }
}
