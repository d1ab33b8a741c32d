import { describe, expect, it } from 'vitest';
import { credentialObject, recordOf } from '../../../test/builders/credential-object.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { WorkQueue } from '../../kube/queue/work-queue.ts';
import type {
  ClusterRecord,
  SpaceInstanceRecord,
  VirtualClusterInstanceRecord,
} from '../../platform/targets/target-record.ts';
import { TargetStores } from '../../platform/targets/target-stores.ts';
import { CredentialStores } from '../credentials/credential-stores.ts';
import { enqueueTargetDependents } from './enqueue-dependents.ts';

const common = {
  created: 0,
  reference: {},
  resourceVersion: '1',
  generation: 1,
  finalizers: [],
  observedGeneration: 1,
  conditions: [],
};
const instance: VirtualClusterInstanceRecord = {
  ...common,
  ...{ kind: 'VirtualClusterInstance', key: 'p-a/vc', name: 'vc', namespace: 'p-a', uid: 'u-vc' },
  kubeConfig: { namespace: 'p-a', name: 'vc-vc', key: 'config' },
  clusterRole: 'cluster-admin',
};
const cluster: ClusterRecord = { ...common, kind: 'Cluster', key: 'c', name: 'c', uid: 'u-c' };
const space: SpaceInstanceRecord = {
  ...common,
  ...{ kind: 'SpaceInstance', key: 'p-a/s', name: 's', namespace: 'p-a', uid: 'u-s' },
  clusterRef: { cluster: 'c', namespace: 'n' },
};
const kind = 'VirtualClusterInstanceKubeConfig';
const kubeConfig = recordOf(
  credentialObject({
    kind,
    name: 'mine',
    spec: { virtualClusterInstance: 'vc' },
    metadata: { namespace: 'p-a' },
  }),
);
const newer = { resourceVersion: '2' };

async function setUp() {
  const clock = new FakeClock();
  const stores = new CredentialStores(clock);
  const targets = new TargetStores(clock);
  const queue = () => new WorkQueue({ clock, random: () => 0 });
  const queues = {
    ...{ instances: queue(), clusters: queue(), spaces: queue() },
    ...{ kubeConfigs: queue(), tokens: queue() },
  };
  const listeners: ((uid: string) => void)[] = [];
  const clients = { subscribe: (listener: (uid: string) => void) => void listeners.push(listener) };
  enqueueTargetDependents({ stores, targets, clients }, queues);
  targets.instances.upsert(instance);
  targets.clusters.upsert(cluster);
  targets.spaces.upsert(space);
  stores.kubeConfigs.upsert(kubeConfig);
  const woken = async () => {
    const keys: string[] = [];
    for (const one of Object.values(queues)) {
      while (one.length > 0) {
        const key = (await one.get()) as string;
        keys.push(key);
        one.done(key);
      }
    }
    return keys;
  };
  await woken();
  const changed = (uid: string) => {
    for (const listener of listeners) listener(uid);
  };
  return { stores, targets, woken, changed };
}

describe('a change of an instance', () => {
  it.each([
    ['another role inside', { clusterRole: 'view' }],
    ['another ingress', { ingressHost: 'vc.example.com' }],
    ['its deletion', { deleted: 1 }],
  ])('enqueues its kubeconfigs for %s', async (_, change) => {
    const { targets, woken } = await setUp();
    targets.instances.upsert({ ...instance, ...newer, ...change });
    expect(await woken()).toEqual(['p-a/vc', 'p-a/mine']);
  });

  it('leaves them alone when the operator only writes the same state again', async () => {
    const { targets, woken } = await setUp();
    targets.instances.upsert({ ...instance, ...newer, phase: 'Failed' });
    expect(await woken()).toEqual(['p-a/vc']);
  });

  it('enqueues them when it is gone', async () => {
    const { targets, woken } = await setUp();
    targets.instances.remove('p-a/vc');
    expect(await woken()).toEqual(['p-a/vc', 'p-a/mine']);
  });
});

describe('another administrator kubeconfig', () => {
  it('enqueues the kubeconfigs of the instance that it belongs to', async () => {
    const { woken, changed } = await setUp();
    changed('u-vc');
    expect(await woken()).toEqual(['p-a/vc', 'p-a/mine']);
    changed('u-other');
    expect(await woken()).toEqual([]);
  });
});

describe('a change of a kubeconfig', () => {
  it('enqueues an instance that waits to be deleted, and no other', async () => {
    const { stores, targets, woken } = await setUp();
    stores.kubeConfigs.upsert({ ...kubeConfig, ...newer });
    expect(await woken()).toEqual([]);
    targets.instances.upsert({ ...instance, ...newer, deleted: 1 });
    await woken();
    stores.kubeConfigs.remove('p-a/mine');
    expect(await woken()).toEqual(['p-a/vc']);
  });
});

describe('a change of a cluster', () => {
  it('enqueues its spaces', async () => {
    const { targets, woken } = await setUp();
    targets.clusters.upsert({ ...cluster, ...newer });
    expect(await woken()).toEqual(['c', 'p-a/s']);
  });

  it('enqueues tokens whose Secrets describe it when its direct endpoint changes, comes or goes', async () => {
    const { stores, targets, woken } = await setUp();
    const tokenWith = (name: string, named: string, format?: string) =>
      recordOf(
        credentialObject({
          ...{ kind: 'DirectClusterEndpointToken', name },
          spec: {
            scope: { clusters: [{ cluster: named }] },
            secretRef: { namespace: 'n', name, ...(format !== undefined && { format }) },
          },
        }),
      );
    const tokens = stores.ofKind.DirectClusterEndpointToken.store;
    tokens.upsert(tokenWith('described', 'c', 'argocd-cluster'));
    tokens.upsert(tokenWith('other', 'd', 'argocd-cluster'));
    tokens.upsert(tokenWith('plain', 'c'));
    for (const change of [{ directEndpoint: 'a' }, { directEndpoint: 'a', directEndpointCA: 'b' }, {}]) {
      const resourceVersion = String(Number(targets.clusters.get('c')?.resourceVersion ?? '1') + 1);
      targets.clusters.upsert({ ...cluster, ...change, resourceVersion });
      expect(await woken()).toEqual(['c', 'p-a/s', 'described']);
    }
    targets.clusters.upsert({ ...cluster, phase: 'Failed', resourceVersion: '9' });
    expect(await woken()).toEqual(['c', 'p-a/s']);
    targets.clusters.remove('c');
    expect(await woken()).toContain('described');
  });
});
