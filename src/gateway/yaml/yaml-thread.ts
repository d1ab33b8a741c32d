import { Worker } from 'node:worker_threads';
import type { Clock, Timer } from '../../kube/clock.ts';
import type { YAMLReading } from './read-yaml.ts';

export interface YAMLThreadLimits {
  /** CPU time of one text. */
  readonly maxMs: number;
  readonly maxHeapBytes: number;
}

export interface ThreadReading {
  readonly reading: YAMLReading;
  /** CPU time that it took. */
  readonly ms: number;
}

/** The answer of the thread about a text. */
export interface ThreadAnswer extends ThreadReading {
  /** It shall not read another one. */
  readonly isLast: boolean;
}

/** Between two looks at the thread, milliseconds. */
const lookMs = 25;
/** How long a thread without work is kept, milliseconds. */
const idleMs = 10_000;
/** On a busy machine a text may take so many times as long as its CPU time. */
const maxSlowness = 8;

/** A thread that reads one text after the other. A text that takes too much ends it, and the next text has a new one. */
export class YAMLThread {
  readonly #clock: Clock;
  readonly #limits: YAMLThreadLimits;
  #worker: Worker | undefined;
  #idle: Timer | undefined;

  constructor(clock: Clock, limits: YAMLThreadLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Wait for it before the next one. */
  async read(text: string): Promise<ThreadReading> {
    this.#idle?.cancel();
    this.#worker ??= startWorker();
    const { isLast, ...reading } = await this.#ask(this.#worker, text);
    if (isLast) await this.#end();
    else this.#idle = this.#clock.setTimer(() => void this.#end(), idleMs);
    return reading;
  }

  async #end(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }

  async #ask(worker: Worker, text: string): Promise<ThreadAnswer> {
    const { promise, resolve } = Promise.withResolvers<ThreadAnswer>();
    const onEnd = () => resolve(ended(tooMuch, this.#limits));
    worker.once('message', resolve).once('error', onEnd).once('exit', onEnd);
    const stopLooking = this.#lookAt(worker, resolve);
    worker.postMessage(text);
    const answer = await promise;
    stopLooking();
    worker.off('message', resolve).off('error', onEnd).off('exit', onEnd);
    return answer;
  }

  /** `resourceLimits` does not bound its heap: the option --max-old-space-size of the process goes before it. */
  #lookAt(worker: Worker, onAnswer: (answer: ThreadAnswer) => void): () => void {
    const { maxMs, maxHeapBytes } = this.#limits;
    const start = this.#clock.monotonic();
    let before: number | undefined;
    const look = async () => {
      const [{ user, system }, heap] = await Promise.all([worker.cpuUsage(), worker.getHeapStatistics()]);
      const cpuMs = (user + system) / 1_000;
      before ??= cpuMs;
      if (cpuMs - before > maxMs) onAnswer(ended(tooSlow, this.#limits));
      if (heap.used_heap_size > maxHeapBytes) onAnswer(ended(tooMuch, this.#limits));
    };
    const onTime = (): void => {
      if (this.#clock.monotonic() - start > maxSlowness * maxMs) onAnswer(ended(tooSlow, this.#limits));
      // A thread that begins or ends says nothing of itself.
      look().catch(() => undefined);
      timer = this.#clock.setTimer(onTime, lookMs);
    };
    let timer = this.#clock.setTimer(onTime, lookMs);
    return () => timer.cancel();
  }
}

/** Without its listeners an error would end the process. */
const startWorker = (): Worker =>
  new Worker(workerFile, { env: {}, name: 'yaml' }).on('error', () => undefined);

/** The bundle has it in a file beside its own. */
const workerFile = new URL(
  import.meta.url.endsWith('.ts') ? './yaml-worker.ts' : './yaml-worker.mjs',
  import.meta.url,
);

const ended = (problem: string, { maxMs: ms }: YAMLThreadLimits): ThreadAnswer => ({
  ...{ reading: { problem }, ms },
  isLast: true,
});
const tooMuch = 'to read so much YAML takes too much memory';
const tooSlow = 'to read so much YAML takes too long';
