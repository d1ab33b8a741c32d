import { afterAll, describe, expect, it } from 'vitest';
import type { Stored } from '../../../lab/operator/api.ts';
import { startInstalled } from '../../../lab/operator/installed-plane.ts';
import { RunningOperator } from '../../../lab/operator/running-operator.ts';
import { healthOf, metricOf, metricsOf } from '../../../lab/operator/telemetry.ts';
import { until } from '../../../lab/operator/until.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { confirmationsOf, WriteGate } from '../../../lab/operator/write-gate.ts';
import { expectConfirmed } from '../../e2e/input/nothing-confirmed.ts';

const plane = await startInstalled({ name: 'restart' });
const gate = await WriteGate.start(plane);
// Registered before the world's own clean-up, so it runs after it.
afterAll(async () => {
  await gate.close();
  await plane.stop();
});
const world = await operatorWorld({ plane, operator: false });
const { admin } = world;
const alice = (await world.user('alice')).api;

/** Keys and tokens that wait for an operator. */
const store = async (count: number): Promise<readonly Stored[]> => {
  const keys = await Promise.all(Array.from({ length: count }, async () => await alice.createKey()));
  const tokens = await Promise.all(Array.from({ length: count }, async () => await alice.createToken()));
  return [...keys, ...tokens];
};

/** Lets five credentials be confirmed, and holds what would be confirmed after them. Resolves when five are. */
async function untilInTheMiddle(start: () => Promise<void>): Promise<() => void> {
  const before = confirmationsOf(gate).length;
  const held = Promise.withResolvers<'pass'>();
  let asked = 0;
  gate.judge = ({ subresource, body }) => {
    if (subresource !== 'status' || typeof body.status?.credentialHash !== 'string') return 'pass';
    asked += 1;
    return asked > 5 ? held.promise : 'pass';
  };
  await start();
  const five = async () => confirmationsOf(gate).length === before + 5;
  await until('five are confirmed, and others are to be', async () => (await five()) && asked > 5, {
    timeoutMs: 90_000,
  });
  return () => {
    gate.judge = () => 'pass';
    held.resolve('pass');
  };
}

describe.each([
  ['keeps the lease through it', '15s'],
  ['loses the lease by it', '2s'],
])('an API server that dies in the middle of work under an operator that %s', (title, leaseDuration) => {
  let operator: RunningOperator;
  const isUnanswered = async () =>
    /^latchkey_client_requests_total\{[^}]*code="0"\} [1-9]/m.test(await metricsOf(operator));

  afterAll(async () => void (await operator.end()));

  it('costs no object, and none is issued twice', async () => {
    const objects = await store(60);
    const env = { LATCHKEY_LEASE_DURATION: leaseDuration };
    const options = { name: world.name('operator'), env };
    const goOn = await untilInTheMiddle(async () => {
      operator = await RunningOperator.start(gate.access, world.guard, options);
    });

    await plane.stopApiServer();
    goOn();
    await until('the operator notices', isUnanswered, { timeoutMs: 90_000 });
    if (title.startsWith('loses'))
      await until('the lease is lost', async () => (await metricOf(operator, 'latchkey_leader')) === 0);
    await plane.startApiServer();

    for (const object of objects) {
      const ready = await admin.untilReady(object, { timeoutMs: 120_000 });
      expectConfirmed(ready);
      expect(ready.status.serial).toBe(1);
    }
  });

  it('leaves an operator that works as before', async () => {
    // For a moment the restarted API server does not know the kinds that its policies are about.
    const created = await until('the API server takes a key', async () => await alice.createKey());
    const key = await admin.untilReady(created, { timeoutMs: 120_000 });
    await admin.delete(key);
    await admin.untilGone(key);
    const ready = async () => (await healthOf(operator, '/readyz')).status === 200;
    await until('it is ready', ready, { timeoutMs: 90_000 });
    expect(await operator.log()).not.toMatch(/"level":"(error|fatal)"/);
  });
});
