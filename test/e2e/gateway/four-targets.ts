import type { Stored } from '../../../lab/operator/api.ts';
import { uniqueName } from '../../../lab/operator/manifest.ts';
import { giveRight } from '../../../lab/operator/rights.ts';
import { sharedVirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { group, labels } from '../../../src/api/names.ts';
import { namespaces, spaceInstances } from '../../../src/api/resources.ts';
import { makeCluster, makeInstance } from '../targets/target-world.ts';
import { type GatewayWorld, gatewayWorld } from './gateway-world.ts';

type TargetKind = 'cluster' | 'space' | 'virtual cluster';

export interface MadeTarget {
  readonly object: Stored;
  /** Behind `/kubernetes/`. */
  readonly path: string;
}

export interface FourTargets {
  readonly world: GatewayWorld;
  /** May do everything with ConfigMaps, in each target. */
  readonly user: string;
  /** Paths behind `/kubernetes/`, by the kind of the target. */
  readonly paths: Readonly<Record<'platform' | TargetKind, string>>;
  /** One more of a kind, which the user may enter too. It leads to the same API server as the others. */
  readonly make: Readonly<Record<TargetKind, () => Promise<MadeTarget>>>;
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
  const cluster = async () => {
    const made = await makeCluster(world, await inside.adminKubeConfig());
    return { object: made.cluster, path: `cluster/${made.cluster.metadata.name}` };
  };
  const virtualCluster = async () => {
    const { instance } = await makeInstance(world, inside, { namespace });
    return { object: instance, path: `project/${project}/virtualcluster/${instance.metadata.name}` };
  };
  const [firstInstance, firstCluster] = [await virtualCluster(), await cluster()];
  const clusterRef = { cluster: firstCluster.object.metadata.name, namespace: 'default' };
  const space = async () => {
    const object = await admin.create(
      spaceInstances,
      { clusterRef },
      { name: world.name('space'), namespace },
    );
    return { object, path: `project/${project}/space/${object.metadata.name}` };
  };
  const firstSpace = await space();
  const entered = ['virtualclusterinstances', 'clusters', 'spaceinstances'];
  const maps = { apiGroups: [''], resources: ['configmaps'], verbs: ['*'] };
  await giveRight(admin, user, { apiGroups: [group], resources: entered, verbs: ['use'] });
  for (const place of [admin, inside.admin]) await giveRight(place, user, maps);
  const all = [firstInstance, firstCluster, firstSpace];
  await Promise.all(all.map(async ({ object }) => await admin.untilReady(object)));
  const paths = {
    platform: 'management',
    cluster: firstCluster.path,
    space: firstSpace.path,
    'virtual cluster': firstInstance.path,
  };
  return { world, user, paths, make: { cluster, space, 'virtual cluster': virtualCluster } };
}
