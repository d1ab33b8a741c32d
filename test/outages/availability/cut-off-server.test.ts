import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TwinApiServer } from '../../../lab/controlplane/components.ts';
import { startControlPlane } from '../../../lab/controlplane/control-plane.ts';
import { until } from '../../../lab/operator/until.ts';
import { configMaps } from '../../../src/api/resources.ts';
import { Reflector } from '../../../src/kube/cache/reflector.ts';
import type { ReflectorOptions } from '../../../src/kube/cache/reflector-options.ts';
import { Store, type StoredRecord } from '../../../src/kube/cache/store.ts';
import { createKubeClient, type KubeClient } from '../../../src/kube/client/client.ts';
import { kubeConfigSource } from '../../../src/kube/client/kube-config.ts';
import { systemClock } from '../../../src/kube/clock.ts';
import { type KubeObject, keyOf } from '../../../src/kube/object.ts';
import { silentLogger } from '../../../src/logger.ts';

interface Slim extends StoredRecord {
  readonly value: string;
}

const plane = await startControlPlane({ name: 'cut-off' });
afterAll(async () => await plane.stop());
const twin = await plane.startTwin();
const stop = new AbortController();
const clients: KubeClient[] = [];
afterAll(async () => {
  stop.abort();
  await Promise.all(clients.map((client) => client.close()));
});

function clientOf(file: string): KubeClient {
  const client = createKubeClient({ kubeConfig: kubeConfigSource({ file }), userAgent: 'test' });
  clients.push(client);
  return client;
}

const toRecord = (object: KubeObject): Slim => ({
  key: keyOf(object.metadata),
  uid: object.metadata.uid,
  resourceVersion: object.metadata.resourceVersion,
  value: (object as KubeObject & { readonly data: { readonly value: string } }).data.value,
});

/** Follows ConfigMaps through the server that can be cut off. */
async function follow(options: Pick<ReflectorOptions<Slim>, 'proofTimeoutMs' | 'watchSeconds'>) {
  const store = new Store<Slim>();
  const reflector = new Reflector<Slim>({
    ...{ resource: configMaps, namespace: 'default', fieldSelector: 'metadata.name=key' },
    ...{ toRecord, store, clock: systemClock, random: Math.random, log: silentLogger },
    client: clientOf(twin.adminKubeconfig),
    watchSeconds: [2, 3],
    backOffMs: [200, 1_000],
    ...options,
  });
  void reflector.run(stop.signal);
  await reflector.synced(stop.signal);
  return { reflector, value: () => store.get('default/key')?.value };
}

const seconds = (count: number) => 1000 * count;
/** The bookmark that proves a watch comes two seconds before its end. */
const withProof = { proofTimeoutMs: seconds(5), watchSeconds: [4, 5] } as const;
/** Longer than two watches ever take. */
const maxAgeMs = seconds(15);

describe('an API server whose watches bring nothing new', () => {
  const admin = clientOf(plane.adminKubeconfig);
  const key = { namespace: 'default', name: 'key' };
  const setValue = (value: string) => admin.mergePatch(configMaps, key, { data: { value } });

  beforeAll(async () => {
    await admin.create(configMaps, { metadata: key, data: { value: 'new' } }, { namespace: 'default' });
  });

  it.each<[string, (twin: TwinApiServer) => void]>([
    ['because it is cut off from etcd', ({ freeze }) => freeze()],
    ['while etcd answers it, which does not send what it watches', ({ holdWatches }) => holdWatches()],
  ])('is noticed with proof, and not without, %s', async (_why, interrupt) => {
    await setValue('live');
    const [proven, plain] = [await follow(withProof), await follow({})];
    await until('both know the object', async () => proven.value() === 'live' && plain.value() === 'live');
    expect(proven.reflector.freshness()).toBeLessThan(maxAgeMs);

    interrupt(twin);
    await setValue('disabled');
    await until('it is stale', async () => proven.reflector.freshness() > maxAgeMs, { timeoutMs: 120_000 });

    // Between two of its watches, which bring nothing, it takes itself for fresh.
    await until('the other takes itself for fresh', async () => plain.reflector.freshness() < seconds(5));
    expect([proven.value(), plain.value()]).toEqual(['live', 'live']);
    const { data } = await admin.get<KubeObject & { readonly data: object }>(configMaps, key);
    expect(data).toEqual({ value: 'disabled' });

    twin.thaw();
    const isFresh = async () => proven.reflector.freshness() < seconds(8);
    await until('it is fresh again', isFresh, { timeoutMs: 90_000 });
    await until('it knows the change', async () => proven.value() === 'disabled');
  });
});
