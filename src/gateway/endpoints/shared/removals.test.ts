import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../../../test/fakes/fake-clock.ts';
import { virtualClusterInstanceKubeConfigs } from '../../../api/resources.ts';
import type { DeleteOptions } from '../../../kube/client/client.ts';
import { KubeError } from '../../../kube/kube-error.ts';
import { silentLogger } from '../../../logger.ts';
import { Arrivals } from '../../index/arrivals.ts';
import { Removals } from './removals.ts';

const key = { namespace: 'p-red', name: 'shop-x' };
const identity = { kind: 'user', user: 'alice', groups: ['dev'] } as const;
const object = { metadata: { ...key, uid: 'u' } } as never;
const failure = (status: number, reason: string) =>
  new KubeError({ code: 'ERR_KUBE_STATUS', message: reason, status, reason });

/** An API server that fails as often as the list is long, and then deletes. */
function start(...failures: readonly KubeError[]) {
  const clock = new FakeClock();
  const arrivals = new Arrivals();
  const deleted: unknown[] = [];
  const left = [...failures];
  const remove = async (_resource: unknown, name: unknown, { preconditions }: DeleteOptions) => {
    deleted.push([name, preconditions]);
    const error = left.shift();
    if (error !== undefined) throw error;
  };
  const acting: unknown[] = [];
  const client = {
    as: (who: unknown) => {
      acting.push(who);
      return { delete: remove } as never;
    },
  };
  const removals = new Removals({
    ...{ resource: virtualClusterInstanceKubeConfigs, client, arrivals, clock },
    ...{ random: () => 0.5, log: silentLogger },
  });
  return { clock, arrivals, deleted, acting, removals };
}

describe('what no one has got', () => {
  it('is deleted by its UID, as the user who made it, with the group that holds the right', async () => {
    const { removals, deleted, acting } = start();
    await removals.remove({ identity, key, uid: 'u' });
    expect(deleted).toEqual([[key, { uid: 'u' }]]);
    expect(acting).toEqual([{ user: 'alice', groups: ['dev', 'management.platform.sh:self-service'] }]);
  });

  it.each([failure(404, 'NotFound'), failure(409, 'Conflict')])(
    'is gone when the API server says %s',
    async (error) => {
      const { removals, deleted, clock } = start(error);
      await removals.remove({ identity, key, uid: 'u' });
      await clock.advanceAsync(60_000, 1_000);
      expect(deleted).toHaveLength(1);
    },
  );

  it('is tried again while the API server is away, ever slower, and then left to its end', async () => {
    const { removals, deleted, clock } = start(
      ...Array.from({ length: 9 }, () => failure(503, 'ServiceUnavailable')),
    );
    await removals.remove({ identity, key, uid: 'u' });
    expect(deleted).toHaveLength(1);
    await clock.advanceAsync(300_000, 1_000);
    expect(deleted).toHaveLength(6);
  });

  it('and may not be there yet is deleted as soon as the watch brings it', async () => {
    const { removals, arrivals, deleted, clock } = start();
    const removal = removals.removeWhenItComes({ identity, key, uid: undefined });
    await clock.advanceAsync(10_000, 1_000);
    expect(deleted).toEqual([]);
    arrivals.saw(object);
    await removal;
    expect(deleted).toEqual([[key, { uid: 'u' }]]);
  });

  it('and never comes is deleted by its name in the end, if it is there', async () => {
    const { removals, deleted, clock } = start(failure(404, 'NotFound'));
    void removals.removeWhenItComes({ identity, key, uid: undefined });
    await clock.advanceAsync(60_000, 1_000);
    expect(deleted).toEqual([[key, undefined]]);
  });

  it('and was seen already is deleted at once', async () => {
    const { removals, deleted, clock } = start();
    void removals.removeWhenItComes({ identity, key, uid: 'u' });
    await clock.settle();
    expect(deleted).toEqual([[key, { uid: 'u' }]]);
  });

  it('is tried once more when the gateway stops, which does not wait for the times between', async () => {
    const { removals, deleted, clock } = start(failure(503, 'ServiceUnavailable'));
    await removals.remove({ identity, key, uid: 'u' });
    void removals.removeWhenItComes({ identity, key: { ...key, name: 'shop-y' }, uid: undefined });
    const drained = removals.drain();
    await clock.settle();
    await drained;
    expect(deleted).toHaveLength(3);
  });

  it('is waited for when the gateway stops, from before anyone knows that there is something to remove', async () => {
    const { removals, deleted } = start();
    const found = Promise.withResolvers<void>();
    const end = removals.begin();
    const work = found.promise.then(() => removals.remove({ identity, key, uid: 'u' })).finally(end);
    const drained = removals.drain().then(() => expect(deleted).toHaveLength(1));
    found.resolve();
    await Promise.all([work, drained]);
  });
});

describe('an arrival', () => {
  it('is told to the last who waits for it, until that ends', () => {
    const arrivals = new Arrivals();
    const seen: string[] = [];
    const endFirst = arrivals.on('p-red/shop-x', () => void seen.push('first'));
    const endSecond = arrivals.on('p-red/shop-x', () => void seen.push('second'));
    endFirst();
    arrivals.saw(object);
    arrivals.saw({ metadata: { ...key, namespace: 'p-blue' } } as never);
    endSecond();
    arrivals.saw(object);
    expect(seen).toEqual(['second']);
  });
});
