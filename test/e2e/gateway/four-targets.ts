import { uniqueName } from '../../../lab/operator/manifest.ts';
import { giveRight } from '../../../lab/operator/rights.ts';
import { sharedVirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { group, labels } from '../../../src/api/names.ts';
import { namespaces, spaceInstances } from '../../../src/api/resources.ts';
import { makeCluster, makeInstance } from '../targets/target-world.ts';
import { type GatewayWorld, gatewayWorld } from './gateway-world.ts';

export interface FourTargets {
  readonly world: GatewayWorld;
  /** May do everything with ConfigMaps, in each target. */
  readonly user: string;
  /** Paths behind `/kubernetes/`, by the kind of the target. */
  readonly paths: Readonly<Record<'platform' | 'cluster' | 'space' | 'virtual cluster', string>>;
}

/**
 * A gateway with one target of each kind, and a user who may enter all of them. Call it at the top of a file. `env`: settings of the
 * gateway.
 */
export async function fourTargets(
  env: Readonly<Record<string, string>> = {},
  user = uniqueName('alice'),
): Promise<FourTargets> {
  const world = await gatewayWorld(env);
  const { admin } = world;
  const inside = await sharedVirtualCluster();
  const project = world.name('red');
  const namespace = `p-${project}`;
  const metadata = { name: namespace, labels: { [labels.project]: project } };
  await admin.createObject(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata });
  const { instance } = await makeInstance(world, inside, { namespace });
  const { cluster } = await makeCluster(world, await inside.adminKubeConfig());
  const clusterRef = { cluster: cluster.metadata.name, namespace: 'default' };
  const space = await admin.create(spaceInstances, { clusterRef }, { name: world.name('space'), namespace });
  const entered = ['virtualclusterinstances', 'clusters', 'spaceinstances'];
  const maps = { apiGroups: [''], resources: ['configmaps'], verbs: ['*'] };
  await giveRight(admin, user, { apiGroups: [group], resources: entered, verbs: ['use'] });
  for (const place of [admin, inside.admin]) await giveRight(place, user, maps);
  await Promise.all([instance, cluster, space].map(async (one) => await admin.untilReady(one)));
  const paths = {
    platform: 'management',
    cluster: `cluster/${cluster.metadata.name}`,
    space: `project/${project}/space/${space.metadata.name}`,
    'virtual cluster': `project/${project}/virtualcluster/${instance.metadata.name}`,
  };
  return { world, user, paths };
}
