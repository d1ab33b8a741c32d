import { afterAll, beforeAll, expect, it } from 'vitest';
import { sharedControlPlane } from '../../../lab/controlplane/shared.ts';
import type { Stored } from '../../../lab/operator/api.ts';
import { concurrently } from '../../../lab/operator/concurrently.ts';
import { RunningOperator } from '../../../lab/operator/running-operator.ts';
import { metricOf } from '../../../lab/operator/telemetry.ts';
import { until } from '../../../lab/operator/until.ts';
import { operatorWorld, untilLeading } from '../../../lab/operator/world.ts';
import { confirmationsOf, type Fate, WriteGate } from '../../../lab/operator/write-gate.ts';
import { ownedAccessKeys } from '../../../src/api/resources.ts';

const plane = await sharedControlPlane();
const gate = await WriteGate.start(plane);
// The operator gives its lease back through the gate, so this goes after the world.
afterAll(async () => await gate.close());
const world = await operatorWorld({ plane, operator: false });
const { admin } = world;
const alice = (await world.user('alice')).api;
const mallory = (await world.user('mallory')).api;

const slow = world.name('slow');
const each = Array.from({ length: 24 }, (_, index) => `${slow}-${index}`);
const released = Promise.withResolvers<Fate>();
let held = 0;
let floods: readonly Stored[];
let operator: RunningOperator;
const startOperator = async () => {
  operator = await RunningOperator.start(gate.access, world.guard, { name: world.name('operator'), env: {} });
  await untilLeading(operator);
};

/** Well before the operator gives up on a write that is not answered. */
const inTime = { timeoutMs: 8_000 };

beforeAll(async () => {
  gate.judge = ({ name, plural }) => {
    if (!name.startsWith(slow) || plural === 'events') return 'pass';
    held++;
    return released.promise;
  };
  await startOperator();
  const keys = concurrently(each, (name) => mallory.createKey({ user: 'mallory', ttl: 3_600 }, { name }));
  const tokens = concurrently(each, (name) => mallory.createToken({ ttl: 3_600 }, { name }));
  floods = (await Promise.all([keys, tokens])).flat();
});

it('leaves workers and connections to others while every write for one requester is slow', async () => {
  await until('as many writes as one requester may have wait', async () => held >= 32, { everyMs: 5 });
  const full = performance.now();
  const [key, token] = await Promise.all([
    alice.createKey({ user: 'alice', ttl: 3_600 }),
    alice.createToken({ ttl: 3_600 }),
  ]);
  await Promise.all([key, token].map(async (object) => await alice.untilReady(object, inTime)));
  const isRenewed = async () => gate.passed.some(({ plural, at }) => plural === 'leases' && at > full);
  await until('the lease is renewed', isRenewed, inTime);
  released.resolve('pass');
  await concurrently(floods, async (object) => await admin.untilReady(object, { timeoutMs: 120_000 }));
  expect(held).toBeGreaterThanOrEqual(floods.length);
});

it('does what is asked for now before most of what the same requester left at its start', async () => {
  await operator.end();
  const old = world.name('old');
  const going = Promise.withResolvers<Fate>();
  gate.judge = ({ name, plural }) => (name.startsWith(old) && plural !== 'events' ? going.promise : 'pass');
  const names = Array.from({ length: 120 }, (_, index) => `${old}-${index}`);
  const pending = await concurrently(names, (name) =>
    mallory.createKey({ user: 'mallory', ttl: 3_600 }, { name }),
  );
  await startOperator();
  const late = await mallory.createKey({ user: 'mallory', ttl: 3_600 });
  // Before it knows of this one, it may do nothing but what was there at its start.
  const known = 'latchkey_reflector_objects{resource="ownedaccesskeys"}';
  const stored = (await admin.client.list(ownedAccessKeys)).items.length;
  await until('the operator knows it', async () => (await metricOf(operator, known)) === stored);
  going.resolve('pass');
  for (const key of [...pending, late]) await admin.untilReady(key, { timeoutMs: 120_000 });
  const confirmed = confirmationsOf(gate).map(({ name }) => name);
  const before = confirmed.slice(0, confirmed.indexOf(late.metadata.name));
  expect(before.filter((name) => name.startsWith(old)).length).toBeLessThan(64);
});
