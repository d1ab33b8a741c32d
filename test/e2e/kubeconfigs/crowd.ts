import type { Api, Stored } from '../../../lab/operator/api.ts';
import { until } from '../../../lab/operator/until.ts';
import type { VirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { labels, systemNamespace } from '../../../src/api/names.ts';
import {
  clusterRoleBindings,
  configMaps,
  virtualClusterInstanceKubeConfigs,
} from '../../../src/api/resources.ts';
import { forEachConcurrently } from '../../../src/kube/for-each-concurrently.ts';
import type { Project } from './kubeconfig-world.ts';

/** So many kubeconfigs with a certificate, made side by side. */
export async function issuedTogether(project: Project, count: number): Promise<readonly Stored[]> {
  const { namespace, world } = project;
  const made: Stored[] = [];
  const lanes = Array.from({ length: count });
  await forEachConcurrently(lanes, 8, async () => made.push(await project.create({ certificateTTL: 3_600 })));
  const uids = uidsOf(made);
  const issued = async () => {
    const { items } = await world.admin.client.list<Stored>(virtualClusterInstanceKubeConfigs, { namespace });
    return items.filter(({ metadata, status }) => uids.has(metadata.uid) && status?.credentialHash).length;
  };
  const options = { timeoutMs: 120_000, everyMs: 250, seen: issued };
  await until('all are issued', async () => (await issued()) === count, options);
  return made;
}

/** Names of the bindings of their certificates. */
export async function bindingsOf(
  cluster: VirtualCluster,
  objects: readonly Stored[],
): Promise<readonly string[]> {
  const { items } = await cluster.admin.client.list(clusterRoleBindings);
  const uids = objects.map(({ metadata }) => metadata.uid);
  return items.map(({ metadata }) => metadata.name).filter((name) => uids.some((uid) => name.includes(uid)));
}

/** Lists the records of what is to be revoked. */
export async function recordsOf({ client }: Api, objects: readonly Stored[]): Promise<readonly Stored[]> {
  const uids = uidsOf(objects);
  const { items } = await client.list<Stored>(configMaps, { namespace: systemNamespace });
  return items.filter(({ metadata }) => uids.has(metadata.labels?.[labels.ownerUID] ?? ''));
}

const uidsOf = (objects: readonly Stored[]): ReadonlySet<string> =>
  new Set(objects.map(({ metadata }) => metadata.uid));
