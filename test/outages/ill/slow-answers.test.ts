import { afterAll, afterEach, expect, it } from 'vitest';
import { sharedControlPlane } from '../../../lab/controlplane/shared.ts';
import { RunningOperator } from '../../../lab/operator/running-operator.ts';
import { until } from '../../../lab/operator/until.ts';
import { freeLease, operatorWorld, untilLeading } from '../../../lab/operator/world.ts';
import { type Fate, WriteGate } from '../../../lab/operator/write-gate.ts';
import { systemNamespace, systemObjects } from '../../../src/api/names.ts';
import { leases } from '../../../src/api/resources.ts';
import type { Lease } from '../../../src/kube/leader/lease.ts';
import { concurrency } from '../../../src/operator/assembly/queues.ts';

const plane = await sharedControlPlane();
const gate = await WriteGate.start(plane);
afterAll(async () => await gate.close());
const world = await operatorWorld({ plane, operator: false });
const { admin } = world;

/** The leader may write for two thirds of it after a renewal, so for less than the work is held. */
const leaseMs = 7_500;

/** As every operator has it that sets nothing; it is lost two thirds of it after the last renewal. */
const defaultLoseMs = 10_000;
/** For one requester. */
const workers = concurrency;

const renewedAt = async (): Promise<number> => {
  const key = { namespace: systemNamespace, name: systemObjects.lease };
  return Date.parse((await admin.client.get<Lease>(leases, key)).spec?.renewTime ?? '');
};

let operator: RunningOperator | undefined;
const answered = Promise.withResolvers<Fate>();
/** One that a failed test left would hold the lease in the test after it. */
afterEach(async () => {
  gate.judge = () => 'pass';
  gate.disturb = () => undefined;
  answered.resolve('pass');
  if (operator === undefined || operator.exited) return;
  await operator.end('SIGKILL');
  await freeLease(admin);
});

it('a leader goes on leading while all its work waits for answers of the API server', async () => {
  const env = { LATCHKEY_LEASE_DURATION: `${leaseMs}ms` };
  operator = await RunningOperator.start(gate.access, world.guard, { name: world.name('slow'), env });
  await untilLeading(operator);
  let waiting = 0;
  gate.judge = ({ plural }) => {
    if (plural === 'leases' || plural === 'events') return 'pass';
    waiting += 1;
    return answered.promise;
  };
  const keys = await Promise.all(Array.from({ length: 40 }, async () => await admin.createKey()));
  await until('all workers wait', async () => waiting >= workers, { timeoutMs: 90_000, seen: () => waiting });
  const from = await renewedAt();

  const renewed = async () => (await renewedAt()) - from > leaseMs;
  await until('it has renewed its lease for longer than it lasts', renewed, { timeoutMs: 90_000 });

  answered.resolve('pass');
  for (const key of keys) await admin.untilReady(key, { timeoutMs: 90_000 });
  const log = await operator.log();
  expect(log.split('\n').filter((line) => line.includes('"msg":"leading"')).length).toBe(1);
  expect(log).not.toContain('leadership lost');
  expect(await operator.end()).toBe(0);
});

it('a leader keeps the default lease while every answer takes 3 s, and while all workers wait for answers of 1 s', async ({
  annotate,
}) => {
  gate.judge = () => 'pass';
  operator = await RunningOperator.start(gate.access, world.guard, { name: world.name('late') });
  await untilLeading(operator);
  let mostAtOnce = 0;
  const delayAll = (delayMs: number) => {
    let waiting = 0;
    mostAtOnce = 0;
    gate.disturb = () => {
      waiting += 1;
      mostAtOnce = Math.max(mostAtOnce, waiting);
      setTimeout(() => {
        waiting -= 1;
      }, delayMs);
      return { delayMs };
    };
  };
  /** `fewest`: so many wait at the same time, however slow the machine is. */
  const untilKept = async (fewest: number) => {
    const from = await renewedAt();
    const kept = async () => (await renewedAt()) - from > defaultLoseMs && mostAtOnce >= fewest;
    await until('it has renewed its lease for longer than it may miss it', kept, {
      timeoutMs: 120_000,
      seen: () => mostAtOnce,
    });
    await annotate(`${mostAtOnce} requests at once`);
  };

  delayAll(3_000);
  const few = [await admin.createKey(), await admin.createToken()];
  await untilKept(2);
  for (const object of few) await admin.untilReady(object, { timeoutMs: 90_000 });

  delayAll(1_000);
  const many = await Promise.all(Array.from({ length: 160 }, async () => await admin.createKey()));
  await untilKept(workers / 2);
  gate.disturb = () => undefined;
  for (const key of many) await admin.untilReady(key, { timeoutMs: 90_000 });

  const log = await operator.log();
  expect(log.split('\n').filter((line) => line.includes('"msg":"leading"')).length).toBe(1);
  expect(log).not.toContain('leadership lost');
  expect(await operator.end()).toBe(0);
});
