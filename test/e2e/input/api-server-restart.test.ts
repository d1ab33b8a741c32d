import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { directClusterEndpointTokens, ownedAccessKeys } from '../../../src/api/resources.ts';
import { manifestOf } from '../../builders/manifest.ts';
import { startControlPlane } from '../../controlplane/control-plane.ts';
import type { Stored } from '../../operator/api.ts';
import { healthOf } from '../../operator/health-of.ts';
import type { RunningOperator } from '../../operator/running-operator.ts';
import { until } from '../../operator/until.ts';
import { operatorWorld } from '../../operator/world.ts';
import { expectConfirmed } from './nothing-confirmed.ts';

const plane = await startControlPlane({ name: 'restart' });
// Registered before the world's own clean-up, so it runs after it.
afterAll(async () => await plane.stop());
const world = await operatorWorld({ plane, operator: false });
const { admin } = world;
const alice = (await world.user('alice')).api;

/** Begins to make keys and tokens, all at once. Some requests may fail: what the API server has stored is what counts. */
const begin = (count: number) => {
  const burst = world.name('burst');
  const kinds = [ownedAccessKeys, directClusterEndpointTokens];
  const made = kinds.flatMap((resource) =>
    Array.from({ length: count }, async () => {
      const { metadata, ...manifest } = manifestOf(resource);
      return await alice.createObject(resource, {
        ...manifest,
        metadata: { ...metadata, labels: { burst } },
      });
    }),
  );
  const settled = Promise.allSettled(made);
  const stored = async (): Promise<readonly Stored[]> => {
    await settled;
    const lists = await Promise.all(
      kinds.map(async (resource) => {
        const { items } = await admin.client.list<Stored>(resource, { labelSelector: `burst=${burst}` });
        return items.map((item) => ({ ...item, kind: resource.kind }));
      }),
    );
    return lists.flat();
  };
  return { stored };
};

describe.each([
  ['keeps the lease through it', '15s'],
  ['loses the lease by it', '2s'],
])('an API server that dies in the middle of work under an operator that %s', (title, leaseDuration) => {
  let operator: RunningOperator;

  beforeAll(async () => {
    operator = await world.startOperator({ env: { LATCHKEY_LEASE_DURATION: leaseDuration } });
    return async () => void (await operator.end());
  });

  it('costs no object, and none is issued twice', async () => {
    const before = await admin.untilReady(await alice.createKey());
    const issued = async () => (await operator.log()).split('"reason":"Issued"').length - 1;
    const first = await issued();
    const { stored } = begin(100);
    await until('some are issued', async () => (await issued()) > first + 5, { everyMs: 1 });

    await plane.stopApiServer();
    const issuedBefore = (await issued()) - first;
    await until('the operator notices', async () => (await operator.log()).includes('ERR_KUBE_UNREACHABLE'));
    if (title.startsWith('loses'))
      await until('the lease is lost', async () => (await operator.log()).includes('leadership lost'));
    await plane.startApiServer();

    const objects = await until('the objects that were stored', stored);
    expect(objects.length).toBeGreaterThan(issuedBefore);
    for (const object of objects) {
      const ready = await admin.untilReady(object, { timeoutMs: 60_000 });
      expectConfirmed(ready);
      expect(ready.status.serial).toBe(1);
    }
    expect((await admin.get(before)).status).toEqual(before.status);
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
