import { afterAll, expect, it } from 'vitest';
import { sharedControlPlane } from '../../../lab/controlplane/shared.ts';
import { RunningOperator } from '../../../lab/operator/running-operator.ts';
import { until } from '../../../lab/operator/until.ts';
import { operatorWorld, untilLeading } from '../../../lab/operator/world.ts';
import { type Fate, WriteGate } from '../../../lab/operator/write-gate.ts';
import { systemNamespace, systemObjects } from '../../../src/api/names.ts';
import { leases } from '../../../src/api/resources.ts';
import type { Lease } from '../../../src/kube/leader/lease.ts';

const plane = await sharedControlPlane();
const gate = await WriteGate.start(plane);
afterAll(async () => await gate.close());
const world = await operatorWorld({ plane, operator: false });
const { admin } = world;

/** The leader may write for two thirds of it after a renewal, so for less than the work is held. */
const leaseMs = 5_000;

const renewedAt = async (): Promise<number> => {
  const key = { namespace: systemNamespace, name: systemObjects.lease };
  return Date.parse((await admin.client.get<Lease>(leases, key)).spec?.renewTime ?? '');
};

it('a leader goes on leading while all its work waits for answers of the API server', async () => {
  const env = { LATCHKEY_LEASE_DURATION: `${leaseMs}ms`, LATCHKEY_CONCURRENCY: '32' };
  const operator = await RunningOperator.start(gate.access, world.guard, { name: world.name('slow'), env });
  await untilLeading(operator);
  const answered = Promise.withResolvers<Fate>();
  let waiting = 0;
  gate.judge = ({ plural }) => {
    if (plural === 'leases' || plural === 'events') return 'pass';
    waiting += 1;
    return answered.promise;
  };
  const keys = await Promise.all(Array.from({ length: 40 }, async () => await admin.createKey()));
  await until('all workers wait', async () => waiting >= 32, { timeoutMs: 90_000, seen: () => waiting });
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
