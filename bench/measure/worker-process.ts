/** Does one operation. */
export type Operation = () => unknown;

/** The works of a module for a worker: `export const works`. Each makes one kind of operation ready. */
export type Works = Readonly<Record<string, () => Promise<Operation>>>;

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

const [file = '', name = '', concurrency = '1'] = process.argv.slice(2);
const { works } = (await import(file)) as { readonly works: Works };
const make = works[name];
if (make === undefined) throw new TypeError(`no work "${name}" in ${file}`);
const operation = await make();

process.on('message', async ({ seconds }: WorkOrder) => {
  process.send?.(await work(seconds));
});
// Every other way of ending, too, closes the channel; nothing may be left behind.
process.on('disconnect', () => process.exit());
process.send?.('ready');

async function work(seconds: number): Promise<WorkDone> {
  const start = performance.now();
  const end = start + seconds * 1000;
  const workers = Array.from({ length: Number(concurrency) }, () => repeat(operation, end));
  const counts = await Promise.all(workers);
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
