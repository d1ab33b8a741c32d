import { parentPort } from 'node:worker_threads';
import { readYAML } from './read-yaml.ts';
import type { ThreadAnswer } from './yaml-thread.ts';

/** Memory of the reader beyond this ends with the thread. */
const maxKeptBytes = 32 * 2 ** 20;

parentPort?.on('message', (text: string) => {
  const before = process.threadCpuUsage();
  const reading = readYAML(text);
  const { user, system } = process.threadCpuUsage(before);
  const isLast = process.memoryUsage().heapUsed > maxKeptBytes;
  parentPort?.postMessage({ reading, ms: (user + system) / 1_000, isLast } satisfies ThreadAnswer);
});
