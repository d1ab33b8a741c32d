import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { Stored } from '../../../lab/operator/api.ts';
import { FaultProxy } from '../../../lab/operator/fault-proxy.ts';
import { startInstalled } from '../../../lab/operator/installed-plane.ts';
import { RunningOperator } from '../../../lab/operator/running-operator.ts';
import { metricOf } from '../../../lab/operator/telemetry.ts';
import { until } from '../../../lab/operator/until.ts';
import { operatorWorld, untilLeading } from '../../../lab/operator/world.ts';
import { WriteGate } from '../../../lab/operator/write-gate.ts';
import { createInSecret, expectWhole } from './secret-keys.ts';

// Its own: objects that other files left on the shared one change for minutes, and each change comes at a kilobyte a second.
const plane = await startInstalled({ name: 'network' });
const network = await FaultProxy.start(plane);
const gate = await WriteGate.start(plane);
afterAll(async () => {
  await network.close();
  await gate.close();
  await plane.stop();
});
const world = await operatorWorld({ plane, operator: false, clear: false });
const { admin } = world;

const create = async () => await createInSecret(world, 'torn');

type Access = Parameters<typeof RunningOperator.start>[0];
let operator: RunningOperator;
const start = async (access: Access, name: string, env: Record<string, string> = {}) => {
  operator = await RunningOperator.start(access, world.guard, { name: world.name(name), env });
};
// After a test that has failed, too: an operator that leads on would let no later one begin.
afterEach(async () => {
  await network.heal();
  await operator.end();
});

// First: a list or a change of hundreds of objects, which the other tests leave, would take minutes at this pace.
describe('an operator at a kilobyte a second', () => {
  it('leads on, and issues a key once', async () => {
    await start(network.access, 'thin');
    await untilLeading(operator);
    // Lists that a new leader still reads are no part of this.
    await admin.untilReady(await admin.createKey());
    network.throttle(1_000);
    // One: each further key doubles what passes on the connections of the watches.
    const key = await admin.untilReady(await create(), { timeoutMs: 200_000 });
    expect(await metricOf(operator, 'latchkey_leader')).toBe(1);
    await network.heal();
    await expectWhole(world, key);
    expect(await operator.log()).not.toContain('leadership lost');
    expect(await operator.end()).toBe(0);
  });
});

describe('an operator behind a bad network', () => {
  it('begins although every list comes slowly', async () => {
    network.throttle(100_000);
    await start(network.access, 'slow');
    const key = await admin.createKey();
    await admin.untilReady(key, { timeoutMs: 180_000 });
    await network.heal();
    expect(await operator.end()).toBe(0);
  });

  it('loses nothing and issues nothing twice while connections are cut in mid-line', async () => {
    await start(network.access, 'cut');
    await untilLeading(operator);
    // About twenty events, and sometimes less than one list.
    network.cutInMidLine(40_000);
    const keys: Stored[] = [];
    const cutsBefore = network.cuts;
    while (network.cuts < cutsBefore + 10) {
      keys.push(await create());
      expect(keys.length).toBeLessThan(400);
    }
    await network.heal();
    for (const key of keys) await admin.untilReady(key, { timeoutMs: 120_000 });
    for (const key of keys) await expectWhole(world, key);
    expect(await operator.end()).toBe(0);
  });
});

describe('an operator whose network is worse for a while', () => {
  it('issues nothing twice when what it writes arrives and no answer comes back', async () => {
    await start(network.access, 'unanswered', { LATCHKEY_LEASE_DURATION: '3s' });
    await untilLeading(operator);
    const creating = Array.from({ length: 30 }, create);
    await admin.untilReady(await creating[0]!, { everyMs: 5 });
    network.loseAnswers();
    const keys = await Promise.all(creating);
    const deposed = async () => (await metricOf(operator, 'latchkey_leader')) === 0;
    await until('it leads no more', deposed);
    // Answers that were given meanwhile arrive now.
    await network.heal();
    for (const key of keys) await admin.untilReady(key);
    for (const key of keys) await expectWhole(world, key);
    expect(await operator.end()).toBe(0);
  });
});

describe('an object that its owner flaps a hundred times a second', () => {
  it('keeps no other waiting, costs few writes, and ends as its owner left it', async ({ annotate }) => {
    await start(gate.access, 'flapped');
    await untilLeading(operator);
    const flapped = await admin.untilReady(await admin.createKey());
    const from = gate.passed.length;
    let flaps = 0;
    let disabled = false;
    const stop = new AbortController();
    const flap = async () => {
      while (!stop.signal.aborted) {
        const due = delay(10);
        disabled = !disabled;
        await admin.patch(flapped, { spec: { disabled } });
        flaps += 1;
        await due;
      }
    };
    const flapping = flap();
    await until('it flaps', async () => flaps > 50);
    for (let count = 0; count < 20; count++) await admin.untilReady(await admin.createKey());
    await until('it has flapped for some time', async () => flaps > 500, { timeoutMs: 120_000 });
    stop.abort();
    await flapping;

    const settled = ({ status }: Stored) => status.active === !disabled;
    await admin.until(flapped, 'it is as its owner left it', settled);
    await gate.settled();
    const writes = gate.passed.slice(from).filter(({ name }) => name === flapped.metadata.name);
    const taken = writes.filter(({ status }) => status < 400);
    await annotate(`${flaps} flaps, ${taken.length} writes, ${writes.length - taken.length} conflicts`);
    // At most one for each change; what the owner has overtaken is refused, and tried again on what is there then.
    expect(taken.length).toBeLessThanOrEqual(flaps);
    expect(writes.length).toBeLessThanOrEqual(2 * flaps);
    expect((await admin.get(flapped)).status.serial).toBe(1);
    expect(await metricOf(operator, 'latchkey_events_dropped_total')).toBe(0);
    expect(await operator.end()).toBe(0);
  });
});
