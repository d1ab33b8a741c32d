import type { Stored } from '../../../lab/operator/api.ts';
import { giveRight } from '../../../lab/operator/rights.ts';
import type { VirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import type { World } from '../../../lab/operator/world.ts';
import { annotations } from '../../../src/api/names.ts';
import { reasons } from '../../../src/api/reasons.ts';
import {
  type Resource,
  secrets,
  spaceInstances,
  virtualClusterInstanceKubeConfigs,
} from '../../../src/api/resources.ts';
import { createAsSelfService } from '../lifecycle/self-service.ts';
import { type Made, makeCluster, makeInstance } from './target-world.ts';

const spec = { clientCert: true, server: 'https://vc.example.com' };

/** Everything that the operator does with targets and kubeconfigs, once. `namespace` is that of a project. */
export function targetScenario(
  world: World,
  cluster: VirtualCluster,
  namespace: string,
): Readonly<Record<string, () => Promise<unknown>>> {
  const { admin } = world;
  const kubeConfigOf = async ({ instance }: Made, given: object = spec): Promise<Stored> => {
    const virtualClusterInstance = instance.metadata.name;
    const name = world.name('kubeconfig');
    const resource: Resource = virtualClusterInstanceKubeConfigs;
    return await admin.create(resource, { virtualClusterInstance, ...given }, { name, namespace });
  };
  const made = async (): Promise<Made> => {
    const one = await makeInstance(world, cluster, { namespace });
    await admin.untilReady(one.instance, { timeoutMs: 90_000 });
    return one;
  };
  return {
    'a cluster with a space, which go again': async () => {
      const { cluster: connected } = await makeCluster(world, await cluster.adminKubeConfig());
      await admin.untilReady(connected, { timeoutMs: 90_000 });
      const clusterRef = { cluster: connected.metadata.name, namespace: 'default' };
      const space = await admin.create(
        spaceInstances,
        { clusterRef },
        { name: world.name('space'), namespace },
      );
      await admin.untilReady(space);
      await admin.delete(connected);
      await admin.untilGone(connected);
    },
    'kubeconfigs of both forms: made, rotated, deleted': async () => {
      const one = await made();
      for (const given of [spec, {}]) {
        const kubeConfig = await admin.untilReady(await kubeConfigOf(one, given));
        await admin.annotate(kubeConfig, { [annotations.rotate]: 'now' });
        await admin.until(kubeConfig, 'rotated', ({ status }) => status.serial === 2);
        await admin.delete(kubeConfig);
        await admin.untilGone(kubeConfig);
      }
      await admin.delete(one.instance);
      await admin.untilGone(one.instance);
    },
    'a kubeconfig of self-service, which goes with its access key': async () => {
      const one = await made();
      const parent = await admin.untilReady(await admin.createKey({ user: 'platform-admin' }));
      const child = await createAsSelfService(
        world,
        'VirtualClusterInstanceKubeConfig',
        { accessKey: parent.metadata.name, virtualClusterInstance: one.instance.metadata.name },
        { namespace, user: 'platform-admin' },
      );
      await admin.untilReady(child);
      await admin.delete(parent);
      await admin.untilGone(child);
    },
    'a certificate that is revoked when its virtual cluster is there again': async () => {
      const one = await made();
      const kubeConfig = await admin.untilReady(await kubeConfigOf(one));
      const { data } = await admin.get(one.secret);
      await admin.delete(one.secret);
      await admin.untilRefused(one.instance, reasons.kubeConfigNotFound);
      await admin.delete(kubeConfig);
      await admin.untilGone(kubeConfig);
      const { name } = one.secret.metadata;
      await admin.createObject(secrets, {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name, namespace },
        data,
      });
      const record = {
        kind: 'ConfigMap',
        metadata: { namespace: 'latchkey-system', name: `latchkey-revocation-${kubeConfig.metadata.uid}` },
      };
      await admin.untilGone(record);
    },
  };
}

/** Lets a user have kubeconfigs of both forms for every instance. */
export async function allowUse({ admin }: World, user: string): Promise<void> {
  await giveRight(admin, user, {
    apiGroups: ['management.platform.sh'],
    resources: ['virtualclusterinstances'],
    verbs: ['use', 'use-as-admin'],
  });
}
