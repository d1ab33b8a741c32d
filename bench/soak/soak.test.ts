import { afterAll, expect, inject, it } from 'vitest';
import { runBundle } from '../../lab/operator/program.ts';
import { type Platform, startPlatform } from '../world/platform.ts';
import { judgeFlatness } from './flatness.ts';
import { figureIn, soak } from './soak.ts';

/** Of the 512 MiB that the Deployment gives it; MiB. */
const maxResident = 320;

let platform: Platform | undefined;
afterAll(async () => await platform?.stop());

it('a minute of churn leaves nothing behind in the operator', async ({ annotate }) => {
  runBundle(inject('bundle'));
  // Of its own: nothing else makes work for the operator.
  platform = await startPlatform({ name: 'soak', fsync: false });
  const { plane, client } = platform;
  const pace = { seconds: 60, operationsPerSecond: 25, everySeconds: 2 };
  const { samples, operations } = await soak({ plane, client, ...pace, onSample: () => undefined });
  // A young process still finds its size, so the short form finds only what grows fast, and says of memory only how much it is.
  const flatness = judgeFlatness(samples, { settledAfterSeconds: 24, maxGrowth: 0.25, slackFactor: 4 });
  await annotate(`${operations} operations; ${JSON.stringify(flatness)}`);
  // Handles are counted again after the churn: during it they are mostly what is under way, and a busy machine has more of that.
  const judged = flatness.filter(({ figure }) => figure === 'heap' || figure === 'sockets');
  expect(judged.filter(({ isFlat }) => !isFlat)).toEqual([]);
  expect(samples.filter(({ resident }) => resident > maxResident)).toEqual([]);
  expect(operations).toBeGreaterThan(200);
});

it('reads one figure of the metrics, with and without labels', () => {
  const metrics = '# TYPE a gauge\na 12\nbb{type="x"} 3.5e6\n';
  expect([figureIn(metrics, 'a'), figureIn(metrics, 'bb')]).toEqual([12, 3_500_000]);
  expect(() => figureIn(metrics, 'c')).toThrow('no c among the metrics');
});
