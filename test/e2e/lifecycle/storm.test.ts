import { describe, expect, it } from 'vitest';
import { reasons } from '../../../src/api/reasons.ts';
import { events, ownedAccessKeys } from '../../../src/api/resources.ts';
import type { ApiEvent, Stored } from '../../operator/api.ts';
import { until } from '../../operator/until.ts';
import { Verifier } from '../../operator/verifier.ts';
import { operatorWorld } from '../../operator/world.ts';
import { hashForm } from './hash-form.ts';

const size = 200;
const writesPerSecond = 60;
const world = await operatorWorld({ env: { LATCHKEY_EXPIRY_WRITES_PER_SECOND: `${writesPerSecond}` } });
const { admin } = world;

describe('200 keys that end within two seconds, under a budget of 60 writes a second', () => {
  it('are refused by the clock at once, marked soonest first, and told of in few events', async () => {
    const prefix = world.name('storm');
    const firstEnd = Math.ceil((Date.now() + (await creationTime())) / 1000) * 1000;
    const endOf = (index: number) => firstEnd + (index % 2) * 1_000;
    const isSoonest = ({ metadata }: Stored) => Number(metadata.name.split('-').at(-1)) % 2 === 0;
    await inLanes(size, async (index) => await createEnding(`${prefix}-${index}`, endOf(index)));
    const all = async () => (await readAll()).filter(({ metadata }) => metadata.name.startsWith(prefix));
    await until('all are ready', async () => (await all()).every(isReady), { everyMs: 250 });
    expect(Date.now()).toBeLessThan(firstEnd);

    await until('the last end', async () => Date.now() >= endOf(1), { timeoutMs: 60_000 });
    const atTheEnd = await all();
    expect(atTheEnd.filter(isDisabled).length).toBeLessThan(size);
    const verifier = new Verifier(admin);
    const live = await Promise.all(
      atTheEnd.filter((_, index) => index % 30 === 0).map((key) => verifier.of(key)),
    );
    expect(new Set(live)).not.toContain('live');

    let overtaken = 0;
    const marked = async () => {
      const keys = await all();
      const latest = keys.filter((key) => !isSoonest(key) && isDisabled(key)).length;
      const waiting = keys.filter((key) => isSoonest(key) && !isDisabled(key)).length;
      // Writes go out side by side, so a few of each may be on the way at the same time.
      if (latest > 0 && waiting > 16) overtaken += 1;
      return keys.every(isDisabled);
    };
    await until('all are disabled', marked, { timeoutMs: 20_000, everyMs: 100 });
    const seconds = (Date.now() - firstEnd) / 1000;
    expect(overtaken).toBe(0);
    expect(seconds).toBeGreaterThan((size - writesPerSecond) / writesPerSecond - 1);
    expect(seconds).toBeLessThan(12);

    const told = async () => {
      const { single, summed } = await toldOf(prefix);
      return single + summed >= size ? { single, summed } : undefined;
    };
    const { single, summed } = await until('every end is told of', told, { timeoutMs: 20_000, everyMs: 250 });
    expect(single + summed).toBe(size);
    expect(single).toBeLessThan(size - 20);
  });
});

/** How long all the keys will take on this machine, milliseconds, with time to spare. */
async function creationTime(): Promise<number> {
  const trials = 24;
  const start = performance.now();
  await inLanes(
    trials,
    async () => void (await admin.createKey({ user: 'alice', key: hashForm(world.name('trial')) })),
  );
  return ((performance.now() - start) / trials) * size * 1.5 + 4_000;
}

/** A key whose life ends at exactly this instant, whole seconds. */
async function createEnding(name: string, end: number): Promise<void> {
  const ttlFrom = (start: number) => Math.floor((end - start) / 1000);
  const spec = { user: 'alice', key: hashForm(name), ttl: ttlFrom(Date.now()) };
  const key = await admin.createKey(spec, { name });
  const ttl = ttlFrom(new Date(key.metadata.creationTimestamp).getTime());
  if (ttl !== spec.ttl) await admin.patch(key, { spec: { ttl } });
}

async function inLanes(count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: 12 }, lane));
}

/** How many ends stand in an event of their own, and how many in summaries. */
async function toldOf(prefix: string): Promise<{ single: number; summed: number }> {
  const { items } = await admin.client.list<ApiEvent>(events, { namespace: 'default' });
  const ours = items.filter(({ regarding }) => regarding.name.startsWith(prefix));
  const summaries = ours.filter(
    ({ reason, note = '' }) => reason === reasons.storm && note.includes(`reason ${reasons.expired} `),
  );
  const counts = summaries.map(({ note = '' }) => Number(/^\d+/.exec(note)?.[0]));
  return {
    single: ours.filter(({ reason }) => reason === reasons.expired).length,
    summed: counts.reduce((sum, count) => sum + count, 0),
  };
}

const readAll = async (): Promise<readonly Stored[]> =>
  (await admin.client.list<Stored>(ownedAccessKeys)).items;

const isReady = ({ status }: Stored): boolean => status.active === true;
const isDisabled = ({ spec }: Stored): boolean => spec.disabled === true;
