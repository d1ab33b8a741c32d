import { afterAll, describe, expect, it } from 'vitest';
import { startControlPlane } from '../../../lab/controlplane/control-plane.ts';
import type { Stored } from '../../../lab/operator/api.ts';
import { RunningOperator } from '../../../lab/operator/running-operator.ts';
import { healthOf, metricOf, metricsOf } from '../../../lab/operator/telemetry.ts';
import { until } from '../../../lab/operator/until.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { expectConfirmed } from '../../e2e/input/nothing-confirmed.ts';

const plane = await startControlPlane({ name: 'restart' });
// Registered before the world's own clean-up, so it runs after it.
afterAll(async () => await plane.stop());
const world = await operatorWorld({ plane, operator: false });
const { admin } = world;
const alice = (await world.user('alice')).api;

/** Keys and tokens that wait for an operator. */
const store = async (count: number): Promise<readonly Stored[]> => {
  const keys = await Promise.all(Array.from({ length: count }, async () => await alice.createKey()));
  const tokens = await Promise.all(Array.from({ length: count }, async () => await alice.createToken()));
  return [...keys, ...tokens];
};

describe.each([
  ['keeps the lease through it', '15s'],
  ['loses the lease by it', '2s'],
])('an API server that dies in the middle of work under an operator that %s', (title, leaseDuration) => {
  let operator: RunningOperator;
  const issued = async () => (await operator.log()).split('"reason":"Issued"').length - 1;
  const isUnanswered = async () =>
    /^latchkey_client_requests_total\{[^}]*code="0"\} [1-9]/m.test(await metricsOf(operator));

  afterAll(async () => void (await operator.end()));

  it('costs no object, and none is issued twice', async () => {
    const objects = await store(60);
    // Not until it leads: it is at work by then.
    const env = { LATCHKEY_LEASE_DURATION: leaseDuration };
    operator = await RunningOperator.start(plane, world.guard, { name: world.name('operator'), env });
    await until('some are issued', async () => (await issued()) > 5, {
      everyMs: 1,
      timeoutMs: 30_000,
    });

    await plane.stopApiServer();
    expect(await issued()).toBeLessThan(objects.length);
    await until('the operator notices', isUnanswered, { timeoutMs: 30_000 });
    if (title.startsWith('loses'))
      await until('the lease is lost', async () => (await metricOf(operator, 'latchkey_leader')) === 0);
    await plane.startApiServer();

    for (const object of objects) {
      const ready = await admin.untilReady(object, { timeoutMs: 60_000 });
      expectConfirmed(ready);
      expect(ready.status.serial).toBe(1);
    }
  });

  it('leaves an operator that works as before', async () => {
    // For a moment the restarted API server does not know the kinds that its policies are about.
    const created = await until('the API server takes a key', async () => await alice.createKey());
    const key = await admin.untilReady(created, { timeoutMs: 60_000 });
    await admin.delete(key);
    await admin.untilGone(key);
    const ready = async () => (await healthOf(operator, '/readyz')).status === 200;
    await until('it is ready', ready, { timeoutMs: 30_000 });
    expect(await operator.log()).not.toMatch(/"level":"(error|fatal)"/);
  });
});
