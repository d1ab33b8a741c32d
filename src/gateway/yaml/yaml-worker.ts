import { parentPort } from 'node:worker_threads';
import { readYAML } from './read-yaml.ts';
import type { ThreadAnswer } from './yaml-thread.ts';

/** What the reader leaves behind beyond this ends with the thread. */
const maxKeptBytes = 32 * 2 ** 20;

parentPort?.on('message', (text: string) => {
  const reading = readYAML(text);
  const isLast = process.memoryUsage().heapUsed > maxKeptBytes;
  parentPort?.postMessage({ reading, isLast } satisfies ThreadAnswer);
});
