import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { GuardedProcess } from '../../lab/controlplane/guard.ts';
import { metricsOf } from '../../lab/operator/telemetry.ts';
import { type Condition, conditionTypes } from '../../src/api/conditions.ts';
import { reasons } from '../../src/api/reasons.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import type { Benchmark, BenchmarkContext, Section } from '../benchmark.ts';
import { type Contender, interleave, type Sample } from '../measure/rounds.ts';
import { percentileOf } from '../measure/statistics.ts';
import { tableOf } from '../measure/table.ts';
import { type MeasuredUser, withMeasuredUser } from '../world/measured-user.ts';
import { createMany, type Template, templates } from '../world/objects.ts';
import { withOperator } from '../world/operator.ts';
import { installPlainKind } from '../world/plain-kind.ts';
import type { Platform } from '../world/platform.ts';
import { hasReadyCondition, type IsReady, ReadyWatch } from '../world/ready-watch.ts';

const measures = [
  { key: 'readyMedian', title: 'create to ready, p50 ms' },
  { key: 'readyLate', title: 'p95 ms' },
  { key: 'handMedian', title: 'the same writes by hand, p50 ms' },
  { key: 'handLate', title: 'p95 ms' },
  { key: 'lagLate', title: 'lag of the event loop, p99 ms' },
  { key: 'lagMax', title: 'longest ms' },
  { key: 'markedSeconds', title: 'all marked, s after their end' },
];

/** The cost to somebody who makes a key that thousands of others end in the same second. */
export const expiryStorm: Benchmark = { name: 'expiry-storm', run };

/** For the making of each key and for its confirmation, on two cores that also hold the API server. */
const leadMsForEach = 40;
const leadMs = 15_000;

async function run(context: BenchmarkContext): Promise<Section> {
  const { options, progress } = context;
  return await withOperator(context, async (platform, operator) => {
    await installPlainKind(platform.plane);
    const runs = Math.ceil(options.runs / options.rounds);
    return await withMeasuredUser(platform, runs, async (user) => {
      const measure = (isOver?: () => boolean) => measureUser(user, operator, runs, isOver);
      const contenders: readonly Contender[] = [
        { name: 'at rest', measure: async () => await measure() },
        {
          name: `while ${options.storm} keys end`,
          measure: async (round) => await duringStorm(platform, { size: options.storm, round }, measure),
        },
      ];
      return section(tableOf(await interleave(contenders, options.rounds, progress), measures), context);
    });
  });
}

function section(table: string, { options: { storm, runs, rounds } }: BenchmarkContext): Section {
  return {
    title: 'expiry-storm',
    about: `One user makes one key after the other, and after each a plain object with as many writes by hand, at most ${runs} in ${rounds} rounds. In the second row from the second on in which ${storm} other keys end, and only until all of those are marked.`,
    table,
    notes: [
      'To reach: p95 25 ms while the keys end, and no pause of the event loop above 100 ms.',
      'The operator marks at most `LATCHKEY_EXPIRY_WRITES_PER_SECOND` keys a second (100). Access has ended at once in any case: verifiers go by the clock.',
      'The lag of the event loop is that of the operator, as its `/metrics` tells it for the time of the row.',
    ],
  };
}

type Measure = (isOver?: () => boolean) => Promise<Sample>;

async function measureUser(
  user: MeasuredUser,
  operator: GuardedProcess,
  runs: number,
  isOver?: () => boolean,
): Promise<Sample> {
  // A read starts the lag again.
  await lagOf(operator);
  const times = await user.measure(runs, isOver);
  const of = (key: 'ready' | 'hand', percent: number) => percentileOf(times, key, percent);
  return {
    readyMedian: of('ready', 50),
    readyLate: of('ready', 95),
    handMedian: of('hand', 50),
    handLate: of('hand', 95),
    ...(await lagOf(operator)),
  };
}

/** Since it was asked for the last time, milliseconds. */
async function lagOf({ logPath }: GuardedProcess): Promise<Sample> {
  const text = await metricsOf({ wholeLog: async () => await readFile(logPath, 'utf8') });
  const read = (name: string) =>
    1_000 * Number(new RegExp(`^nodejs_eventloop_lag_${name}_seconds (\\S+)$`, 'm').exec(text)?.[1]);
  return { lagLate: read('p99'), lagMax: read('max') };
}

/** Makes keys that end together, waits for that, and measures until they are all marked. */
async function duringStorm(
  { client }: Platform,
  { size, round }: { readonly size: number; readonly round: number },
  measure: Measure,
): Promise<Sample> {
  const prefix = `storm-${round}`;
  const endsAt = Math.ceil((Date.now() + leadMs + size * leadMsForEach) / 1_000) * 1_000;
  const template = endingAt(endsAt);
  const isMeant =
    (holds: IsReady): IsReady =>
    (object) =>
      object.metadata.name.startsWith(prefix) && holds(object);
  const made = await ReadyWatch.open(client, template.resource, isMeant(hasReadyCondition));
  const marked = await ReadyWatch.open(client, template.resource, isMeant(isMarked));
  try {
    await createMany(client, template, prefix, size);
    await made.untilReady(size, 60_000);
    if (Date.now() > endsAt) throw new Error(`${size} keys were not ready before they ended`);
    await delay(endsAt - Date.now());
    const measuring = marked.whileUnready(size, measure);
    const marking = marked.untilReady(size, 600_000).then(() => (Date.now() - endsAt) / 1_000);
    const [sample, markedSeconds] = await Promise.all([measuring, marking]);
    return { ...sample, markedSeconds };
  } finally {
    for (const watch of [made, marked]) watch.close();
  }
}

/** Its `ttl` counts from the creation, in whole seconds. */
const endingAt = (ms: number): Template => ({
  resource: templates.hashedKey.resource,
  spec: (name) => ({
    ...templates.hashedKey.spec(name),
    ttl: ms / 1_000 - Math.floor(Date.now() / 1_000),
  }),
});

function isMarked({
  status,
}: KubeObject & { readonly status?: { conditions?: readonly Condition[] } }): boolean {
  const ready = status?.conditions?.find(({ type }) => type === conditionTypes.ready);
  return ready?.reason === reasons.expired;
}
