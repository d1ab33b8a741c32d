import { concurrency, type Operation, type WorkName, works } from './token-issue-work.ts';

/** From the parent: work for so many seconds. */
export interface WorkOrder {
  readonly seconds: number;
}

/** To the parent: what was done. */
export interface WorkDone {
  readonly operations: number;
  readonly seconds: number;
}

/** Looking at the clock for each operation would be part of the figure. */
const batch = 32;

const operation = await works[process.argv[2] as WorkName]();

process.on('message', async ({ seconds }: WorkOrder) => {
  process.send?.(await work(seconds));
});
// Every other way of ending, too, closes the channel; nothing may be left behind.
process.on('disconnect', () => process.exit());
process.send?.('ready');

async function work(seconds: number): Promise<WorkDone> {
  const start = performance.now();
  const end = start + seconds * 1000;
  const counts = await Promise.all(Array.from({ length: concurrency }, () => repeat(operation, end)));
  return {
    operations: counts.reduce((sum, count) => sum + count),
    seconds: (performance.now() - start) / 1000,
  };
}

async function repeat(operate: Operation, end: number): Promise<number> {
  let count = 0;
  while (performance.now() < end) {
    for (let index = 0; index < batch; index++) await operate();
    count += batch;
  }
  return count;
}
