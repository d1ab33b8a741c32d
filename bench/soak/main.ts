import { parseArgs } from 'node:util';
import { runCommandLine } from '../command-line.ts';
import { tableOf } from '../measure/table.ts';
import { startPlatform } from '../world/platform.ts';
import { allFigures, type Flatness, figures, judgeFlatness, type Sample } from './flatness.ts';
import { soak } from './soak.ts';

const usage = `usage: npm run soak -- [--minutes N] [--rate N]

  --minutes N   how long (60)
  --rate N      operations a second (25)`;

function wholeNumber(value: string, name: string): number {
  if (!/^[1-9]\d*$/.test(value))
    throw new TypeError(`--${name} takes a whole number from 1 on, not "${value}"`);
  return Number(value);
}

/** Everything has settled by then; a shorter run has a third of its time for it. */
const settledAfterSeconds = 300;

interface Length {
  readonly seconds: number;
  readonly operationsPerSecond: number;
}

function parseLength(args: readonly string[]): Length {
  const { values } = parseArgs({
    args: [...args],
    options: { minutes: { type: 'string', default: '60' }, rate: { type: 'string', default: '25' } },
  });
  const seconds = 60 * wholeNumber(values.minutes, 'minutes');
  return { seconds, operationsPerSecond: wholeNumber(values.rate, 'rate') };
}

async function main({ seconds, operationsPerSecond }: Length): Promise<void> {
  const platform = await startPlatform({ fsync: false });
  try {
    const { plane, client } = platform;
    const pace = { seconds, operationsPerSecond, everySeconds: 10 };
    const { samples, operations } = await soak({ plane, client, ...pace, onSample: printSample });
    const settled = Math.min(settledAfterSeconds, seconds / 3);
    const limits = { settledAfterSeconds: settled, maxGrowth: 0.1, slackFactor: 1 };
    report(judgeFlatness(samples, limits), operations, samples);
  } finally {
    await platform.stop();
  }
}

const printSample = (sample: Sample): void =>
  console.error(
    `${Math.round(sample.seconds)} s: ${allFigures.map((figure) => `${figure} ${Math.round(sample[figure])}`).join(', ')}`,
  );

function report(flatness: readonly Flatness[], operations: number, samples: readonly Sample[]): void {
  const rows = flatness.map(({ figure, first, last }) => [figures[figure].title, [{ first, last }]] as const);
  const columns = [
    { key: 'first', title: 'at the beginning' },
    { key: 'last', title: 'at the end' },
  ];
  console.log(`${operations} operations in ${Math.round(samples.at(-1)?.seconds ?? 0)} s\n`);
  console.log(tableOf(new Map(rows), columns));
  const growing = flatness.filter(({ isFlat }) => !isFlat).map(({ figure }) => figures[figure].title);
  if (growing.length === 0) return;
  console.log(`\nnot flat: ${growing.join(', ')}`);
  process.exitCode = 1;
}

await runCommandLine(usage, parseLength, main);
