import { describe, expect, it } from 'vitest';
import { conditionOf, type Stored } from '../../../lab/operator/api.ts';
import { concurrently } from '../../../lab/operator/concurrently.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { reasons } from '../../../src/api/reasons.ts';

const bound = 4;
const world = await operatorWorld({ operator: false, env: { LATCHKEY_MAX_OBJECTS_PER_OWNER: `${bound}` } });
const alice = (await world.user('alice')).api;
const mallory = (await world.user('mallory')).api;
const argo = (await world.user('system:serviceaccount:argocd:controller')).api;
const life = { ttl: 3_600 };

/** In the order in which the operator wrote them last. */
const byVersion = (a: Stored, b: Stored): number =>
  Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion);

describe('a requester with hundreds of new keys', () => {
  it('delays the key of another requester by a few of theirs, also when it came last', async () => {
    const floods = await concurrently(Array.from({ length: 400 }), () =>
      argo.createKey({ user: 'mallory', ...life }),
    );
    const key = await alice.createKey({ user: 'alice', ...life }, { name: world.name('zz-last') });
    await world.startOperator();
    const ready = await alice.untilReady(key);
    const done = await concurrently(floods, (flood) => argo.untilReady(flood, { timeoutMs: 120_000 }));
    const first = done.toSorted(byVersion).filter((flood) => byVersion(flood, ready) < 0);
    expect(first.length).toBeLessThan(64);
  });
});

describe('a requester with more objects than the bound', () => {
  it('has the newest wait, and they go on one by one when there is room', async () => {
    const keys: Stored[] = [];
    for (let index = 0; index < bound + 2; index++)
      keys.push(await mallory.createKey({ user: 'mallory', ...life }));
    const [first, ...others] = keys as [Stored, ...Stored[]];
    const [next, last] = others.slice(bound - 1) as [Stored, Stored];
    for (const granted of [first, ...others.slice(0, bound - 1)]) await mallory.untilReady(granted);
    for (const waiting of [next, last]) {
      const { status } = await mallory.untilRefused(waiting, reasons.quotaExceeded);
      expect(status).not.toHaveProperty('credentialHash');
      expect(conditionOf(await mallory.get(waiting))?.message).toContain('LATCHKEY_MAX_OBJECTS_PER_OWNER');
      await world.admin.untilEvent(waiting, reasons.quotaExceeded);
    }
    await mallory.delete(first);
    await mallory.untilReady(next);
    expect(conditionOf(await mallory.get(last))?.reason).toBe(reasons.quotaExceeded);
    await mallory.patch(next, { spec: { ttl: 1 } });
    await mallory.untilReady(last);
    await mallory.patch(next, { spec: { ttl: 7_200 } });
    await mallory.untilRefused(next, reasons.quotaExceeded);
  });

  it('takes no place from another requester, nor from another kind', async () => {
    const keys = await concurrently(Array.from({ length: bound }), () =>
      alice.createKey({ user: 'alice', ...life }),
    );
    const refused = await mallory.createToken({ ttl: 3_600 });
    await mallory.untilReady(refused);
    const states = await concurrently(keys, (key) =>
      alice.until(key, 'decided on', (now) => conditionOf(now)?.status !== 'Unknown'),
    );
    // One key of alice is there from the test before.
    expect(states.filter((state) => conditionOf(state)?.status === 'True')).toHaveLength(bound - 1);
  });
});
