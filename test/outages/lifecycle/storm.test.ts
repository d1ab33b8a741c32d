import { beforeAll, describe, expect, it } from 'vitest';
import { type ApiEvent, conditionOf, type Stored } from '../../../lab/operator/api.ts';
import { concurrently } from '../../../lab/operator/concurrently.ts';
import { metricOf } from '../../../lab/operator/telemetry.ts';
import { until } from '../../../lab/operator/until.ts';
import { Verifier } from '../../../lab/operator/verifier.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { events, ownedAccessKeys } from '../../../src/api/resources.ts';
import { hashForm } from '../../e2e/lifecycle/hash-form.ts';

const writesPerSecond = 10;
const world = await operatorWorld({ env: { LATCHKEY_EXPIRY_WRITES_PER_SECOND: `${writesPerSecond}` } });
const { admin } = world;
const verifier = new Verifier(admin);
const waiting = 'latchkey_expiry_budget_waiting';

let parent: Stored;
let children: readonly Stored[];
/** How long this machine takes to write all of them. */
let writingMs: number;

beforeAll(async () => {
  parent = await admin.untilReady(await admin.createKey());
  const began = performance.now();
  children = await concurrently(Array.from({ length: 180 }), createChild);
  writingMs = performance.now() - began;
  const allReady = async () => (await present(children)).every(isReady);
  await until('all are ready', allReady, { everyMs: 250, timeoutMs: 120_000 });
});

describe('many keys that stop working together', () => {
  it('are told of in fewer events: 100 at once and 10 a second, the others in summaries', async () => {
    const start = performance.now();
    await admin.patch(parent, { spec: { disabled: true } });
    const noneReady = async () => !(await present(children)).some(isReady);
    await until('none is ready', noneReady, { everyMs: 250, timeoutMs: 120_000 });
    const seconds = (performance.now() - start) / 1000;
    const told = async () => {
      const counts = await toldOf(children, reasons.accessKeyNotLive);
      return counts.single + counts.summed >= children.length ? counts : undefined;
    };
    const { single, summed } = await until('all are told of', told, { timeoutMs: 120_000, everyMs: 250 });
    expect(single + summed).toBe(children.length);
    expect(single).toBeLessThanOrEqual(100 + Math.ceil(10 * seconds));
  });
});

describe('80 keys that end within two seconds, under a budget of 10 writes a second', () => {
  /** Some more, which are deleted while they wait for their turn. */
  let doomed: readonly Stored[];
  let soonest: readonly Stored[];
  let latest: readonly Stored[];
  let firstEnd: number;
  let lastEnd: number;

  beforeAll(async () => {
    await admin.patch(parent, { spec: { disabled: false } });
    const keys = children.slice(0, 85);
    const allReady = async () => (await present(keys)).every(isReady);
    await until('all are ready', allReady, { everyMs: 250, timeoutMs: 120_000 });
    [doomed, soonest, latest] = [keys.slice(80), keys.slice(0, 40), keys.slice(40, 80)];
    // All ends are written before the first of them.
    firstEnd = Math.ceil((Date.now() + 3 * writingMs) / 1000) * 1000 + 10_000;
    lastEnd = firstEnd + 1_000;
    // The later ones first, so that it is not the order of writing that makes the order of ends.
    await concurrently([...doomed, ...latest], async (key) => await endAt(key, lastEnd));
    // Half of them with a field that is somebody else's, so that their end stands in status only.
    await concurrently(soonest.slice(20), async (key) => await endAt(key, firstEnd, { disabled: false }));
    await concurrently(soonest.slice(0, 20), async (key) => await endAt(key, firstEnd));
    expect(Date.now()).toBeLessThan(firstEnd);
  });

  it('are refused by the clock while most of them are still to be marked', async () => {
    // No more than 40 end before the last ones, so this is after the last end.
    const half = async () => (await metricOf(world.operator, waiting)) > 40;
    await until('half of them wait', half, { timeoutMs: 120_000 });
    expect(Date.now()).toBeGreaterThanOrEqual(lastEnd);
    const verdicts = [...soonest, ...latest]
      .filter((_, index) => index % 10 === 0)
      .map((key) => verifier.of(key));
    expect(await Promise.all(verdicts)).not.toContain('live');
    for (const key of doomed) await admin.delete(key);
  });

  it('are marked soonest first, within the budget', async () => {
    let overtaken = 0;
    const firsts = new Set(soonest.map(({ metadata }) => metadata.uid));
    const marked = async () => {
      // Of one list: between two of them some would be marked.
      const now = await present([...soonest, ...latest]);
      const ofSoonest = now.filter(({ metadata }) => firsts.has(metadata.uid));
      const ofLatest = now.filter(({ metadata }) => !firsts.has(metadata.uid));
      const left = ofSoonest.filter((key) => !isMarked(key)).length;
      // Writes go out side by side, so some of both may be under way at the same time.
      if (ofLatest.some(isMarked)) overtaken = Math.max(overtaken, left);
      return left === 0 && ofLatest.every(isMarked);
    };
    await until('all are marked', marked, { timeoutMs: 120_000, everyMs: 100 });
    expect(overtaken).toBeLessThanOrEqual(10);
    // As many as it has writes a second go at once.
    expect(Date.now() - firstEnd).toBeGreaterThan((80 / writesPerSecond - 1) * 1000);
    const noneWaits = async () => (await metricOf(world.operator, waiting)) === 0;
    await until('nothing waits any more, not even for what was deleted', noneWaits);
  });
});

async function createChild(): Promise<Stored> {
  const key = hashForm(world.name('supplied'));
  return await admin.createKey({ accessKey: parent.metadata.name, key });
}

/** Gives a key the ttl with which it ends at exactly that instant, whole seconds. */
async function endAt(key: Stored, end: number, spec: object = {}): Promise<void> {
  const ttl = (end - new Date(key.metadata.creationTimestamp).getTime()) / 1000;
  await admin.patch(key, { spec: { ttl, ...spec } });
}

/** The same objects as they are now. */
async function present(keys: readonly Stored[]): Promise<readonly Stored[]> {
  const uids = new Set(keys.map(({ metadata }) => metadata.uid));
  const { items } = await admin.client.list<Stored>(ownedAccessKeys);
  return items.filter(({ metadata }) => uids.has(metadata.uid));
}

/** How many of the transitions for this reason stand in events of their own, and how many in summaries. */
async function toldOf(keys: readonly Stored[], reason: string): Promise<{ single: number; summed: number }> {
  const { items } = await admin.client.list<ApiEvent>(events, { namespace: 'default' });
  const names = new Set(keys.map(({ metadata }) => metadata.name));
  const ours = items.filter(({ regarding }) => names.has(regarding.name));
  const summaries = ours.filter((event) => event.reason === reasons.storm && event.note?.includes(reason));
  const counts = summaries.map(({ note = '' }) => Number(/^\d+/.exec(note)?.[0]));
  return {
    single: ours.filter((event) => event.reason === reason).length,
    summed: counts.reduce((sum, count) => sum + count, 0),
  };
}

const isReady = ({ status }: Stored): boolean => status.active === true;
const isMarked = (key: Stored): boolean => conditionOf(key)?.reason === reasons.expired;
