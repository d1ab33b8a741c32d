import { Worker } from 'node:worker_threads';
import type { Clock } from '../../kube/clock.ts';
import type { YAMLReading } from './read-yaml.ts';

export interface YAMLThreadLimits {
  readonly maxMs: number;
  readonly maxHeapBytes: number;
}

/** Between two looks at the thread, milliseconds. */
const lookMs = 25;

/**
 * Reads a text in a thread of its own, which ends with it. The thread is stopped when it takes too long, or too much memory.
 * `resourceLimits` does not bound its heap: the option --max-old-space-size of the process goes before it.
 */
export async function readInThread(
  text: string,
  { maxMs, maxHeapBytes }: YAMLThreadLimits,
  clock: Clock,
): Promise<YAMLReading> {
  const thread = new Worker(threadFile, { env: {}, name: 'yaml' });
  const { promise, resolve } = Promise.withResolvers<YAMLReading>();
  const start = clock.monotonic();
  const look = (): void => {
    if (clock.monotonic() - start > maxMs) resolve(tooSlow);
    timer = clock.setTimer(look, lookMs);
    thread.getHeapStatistics().then(judgeHeap, () => undefined);
  };
  const judgeHeap = ({ used_heap_size }: { used_heap_size: number }): void => {
    if (used_heap_size > maxHeapBytes) resolve(tooMuch);
  };
  let timer = clock.setTimer(look, lookMs);
  thread
    .once('message', resolve)
    .once('error', () => resolve(tooMuch))
    .once('exit', () => resolve(tooMuch));
  thread.postMessage(text);
  try {
    return await promise;
  } finally {
    timer.cancel();
    await thread.terminate();
  }
}

/** The bundle has it in a file beside its own. */
const threadFile = new URL(
  import.meta.url.endsWith('.ts') ? './yaml-worker.ts' : './yaml-worker.mjs',
  import.meta.url,
);

const tooMuch = { problem: 'to read so much YAML takes too much memory' };
const tooSlow = { problem: 'to read so much YAML takes too long' };
