import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Benchmark, BenchmarkContext, Section } from '../benchmark.ts';
import { usageOf } from '../measure/process-usage.ts';
import { type Contender, interleave, type Sample } from '../measure/rounds.ts';
import { tableOf } from '../measure/table.ts';
import type { WorkDone, WorkOrder } from './token-issue-process.ts';
import { concurrency, type WorkName } from './token-issue-work.ts';

const program = fileURLToPath(new URL('./token-issue-process.ts', import.meta.url));

const contenders: Readonly<Record<WorkName, string>> = {
  issue: 'claims and signed token, as the operator makes them',
  sign: 'limit: the ES256 signature alone, node:crypto `sign`',
  subtle: 'beside: the ES256 signature alone, WebCrypto, which jose uses',
};

const measures = [
  { key: 'rate', title: 'operations a second' },
  { key: 'cpu', title: 'CPU, µs an operation' },
];

/** How fast tokens can be made where no API server is in the way. */
export const tokenIssue: Benchmark = { name: 'token-issue', run };

async function run({ options, progress }: BenchmarkContext): Promise<Section> {
  const { rounds, seconds, warmUp } = options;
  const workers: Worker[] = [];
  try {
    for (const [work, name] of Object.entries(contenders)) {
      const worker = await Worker.start(work, name);
      workers.push(worker);
      if (warmUp > 0) await worker.work(warmUp);
    }
    const turns = workers.map(
      (worker): Contender => ({ name: worker.name, measure: () => worker.measure(seconds) }),
    );
    return section(tableOf(await interleave(turns, rounds, progress), measures), options);
  } finally {
    for (const worker of workers) worker.end();
  }
}

function section(table: string, { rounds, seconds, warmUp }: BenchmarkContext['options']): Section {
  return {
    title: 'token-issue',
    about: `Tokens in process, each contender in a process of its own; WebCrypto signs ${concurrency} at a time, the number of workers that the operator has for each kind. ${rounds} rounds of ${seconds} s after ${warmUp} s of warm-up.`,
    table,
    notes: [
      'To reach: at least 15,000 tokens a second.',
      'WebCrypto signs on threads beside the event loop, so its rate can exceed what one core gives; its CPU time says what it costs.',
    ],
  };
}

/** A process that does one kind of work when it is told to. */
class Worker {
  readonly name: string;
  readonly #child: ChildProcess;

  static async start(work: string, name: string): Promise<Worker> {
    const child = fork(program, [work]);
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
      throw new Error(`the process of token-issue ended with code ${code}`);
    });
    const [message] = await Promise.race([once(child, 'message', { signal }), exited]);
    return message;
  } finally {
    ended.abort();
  }
}
