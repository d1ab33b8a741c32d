import { describe, expect, it } from 'vitest';
import { credentialObject, recordOf } from '../../../test/builders/credential-object.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { Store } from '../../kube/cache/store.ts';
import { WorkQueue } from '../../kube/queue/work-queue.ts';
import { runWorkers } from '../../kube/queue/workers.ts';
import { sleep } from '../../kube/sleep.ts';
import { silentLogger } from '../../logger.ts';
import type { RevocationRecord } from '../certificates/revocation-records.ts';
import { CredentialStores } from '../credentials/credential-stores.ts';
import { limitDialling } from './queues.ts';

const revocation = (name: string, instance: string): RevocationRecord => ({
  ...{ key: `latchkey-system/${name}`, name, uid: name, resourceVersion: '1', ownerUID: name },
  instance: { namespace: 'p-a', name: instance, uid: instance },
  secret: { namespace: 'p-a', name: instance, key: 'config' },
  ...{ caFingerprint: 'f', serials: [1], notAfter: 0, readable: true },
});

const kubeConfig = (name: string, clientCert: boolean, metadata: { deletionTimestamp?: string } = {}) =>
  recordOf(
    credentialObject({
      kind: 'VirtualClusterInstanceKubeConfig',
      name,
      spec: { virtualClusterInstance: 'vc', clientCert },
      metadata: { namespace: 'p-a', ...metadata },
    }),
  );

/** `readingMs`: how long it takes until objects are worked on. */
function setUp(readingMs = 0) {
  const clock = new FakeClock();
  const workingSince = clock.now() + readingMs;
  const stores = new CredentialStores(clock);
  const revocations = new Store<RevocationRecord>();
  const limits = limitDialling({
    ...{ stores, revocations, clock, limitMs: 15_000 },
    workingSince: () => workingSince,
  });
  const queueOf = (name: keyof typeof limits) => new WorkQueue({ clock, random: () => 1, ...limits[name] });
  return { clock, stores, revocations, queueOf };
}

/** Which of these keys are worked on at the same time, by as many workers as there are keys. */
async function workedOn(queue: WorkQueue, keys: readonly string[]): Promise<readonly string[]> {
  const taken: string[] = [];
  for (const key of keys) queue.add(key);
  for (const _ of keys) void queue.get().then((key) => key !== undefined && taken.push(key));
  await Promise.resolve();
  await Promise.resolve();
  return taken;
}

describe('at the same time', () => {
  it('one kubeconfig with a certificate more than four waits, and those that dial nothing do not', async () => {
    const { stores, queueOf } = setUp();
    const names = ['1', '2', '3', '4', '5'];
    for (const name of names) stores.kubeConfigs.upsert(kubeConfig(`c${name}`, true));
    for (const name of names) stores.kubeConfigs.upsert(kubeConfig(`t${name}`, false));
    const keys = [...stores.kubeConfigs.keys()];
    const waiting = ['p-a/c5'];
    const queue = queueOf('virtualclusterinstancekubeconfigs');
    expect(await workedOn(queue, keys)).toEqual(keys.filter((key) => !waiting.includes(key)));
  });

  it('four deleted ones of a virtual cluster, also when reading all objects took longer than their limit', async () => {
    const { clock, stores, queueOf } = setUp(60_000);
    const deletionTimestamp = new Date(clock.now()).toISOString();
    for (const name of ['1', '2', '3', '4', '5'])
      stores.kubeConfigs.upsert(kubeConfig(name, true, { deletionTimestamp }));
    clock.advance(60_000);
    const keys = [...stores.kubeConfigs.keys()];
    expect(await workedOn(queueOf('virtualclusterinstancekubeconfigs'), keys)).toEqual(keys.slice(0, 4));
  });

  it('one revocation of each virtual cluster, and four of a project, are worked on', async () => {
    const { revocations, queueOf } = setUp();
    for (const name of ['a1', 'a2', 'b1', 'c1', 'd1', 'e1'])
      revocations.upsert(revocation(name, name.charAt(0)));
    const keys = ['a1', 'b1', 'c1', 'd1'].map((name) => `latchkey-system/${name}`);
    expect(await workedOn(queueOf('revocations'), [...revocations.keys()])).toEqual(keys);
  });

  it('twelve instances of a project are checked, and of another project as many', async () => {
    const { queueOf } = setUp();
    const of = (project: string, count: number) =>
      Array.from({ length: count }, (_, index) => `${project}/vc-${index}`);
    const worked = await workedOn(queueOf('virtualclusterinstances'), [...of('p-a', 20), ...of('p-b', 2)]);
    expect(worked.toSorted()).toEqual([...of('p-a', 12), ...of('p-b', 2)].toSorted());
  });
});

it('each of 90 dead instances is checked once before any is checked again, with no reconcile that does nothing', async () => {
  const { clock, queueOf } = setUp();
  const queue = queueOf('virtualclusterinstances');
  const begun: string[] = [];
  const running = runWorkers({
    ...{ queue, workers: 64, clock, log: silentLogger },
    work: async (key) => {
      begun.push(key);
      await sleep(clock, 10_000);
      return { requeueAfterMs: 1_000 };
    },
  });
  const keys = Array.from({ length: 90 }, (_, index) => `p-a/vc-${index}`);
  for (const key of keys) queue.add(key);
  await clock.settle();
  // Twelve at a time, ten seconds each.
  for (let seconds = 0; seconds <= 70; seconds += 10) {
    expect(begun).toHaveLength(12 * (seconds / 10 + 1));
    await clock.advanceAsync(10_000, 500);
  }
  expect(begun.slice(0, 90)).toEqual(keys);
  queue.shutDown({ discard: true });
  await clock.advanceAsync(10_000, 500);
  await running;
});

it('lets a hundred deleted kubeconfigs of a silent virtual cluster go at their limit, and none without a slot before', async () => {
  const { clock, stores, queueOf } = setUp();
  const queue = queueOf('virtualclusterinstancekubeconfigs');
  const begun: string[] = [];
  const running = runWorkers({
    ...{ queue, workers: 16, clock, log: silentLogger },
    work: async (key) => {
      begun.push(key);
      const isLate = clock.now() >= start + 15_000;
      if (isLate) stores.kubeConfigs.remove(key);
      else await sleep(clock, 60_000);
      return undefined;
    },
  });
  const start = clock.now();
  const deletionTimestamp = new Date(start).toISOString();
  const names = Array.from({ length: 100 }, (_, index) => `old-${index}`);
  const keys = names.map((name) => `p-a/${name}`);
  for (const name of names) stores.kubeConfigs.upsert(kubeConfig(name, true, { deletionTimestamp }));
  for (const key of keys) queue.add(key);
  await clock.advanceAsync(14_999, 1_000);
  expect([begun, queue.waitingForSlot]).toEqual([keys.slice(0, 4), 96]);
  await clock.advanceAsync(1_001, 500);
  await expect.poll(() => begun.toSorted()).toEqual(keys.toSorted());
  expect(queue.waitingForSlot).toBe(0);
  queue.shutDown({ discard: true });
  await clock.advanceAsync(60_000, 10_000);
  await running;
});
