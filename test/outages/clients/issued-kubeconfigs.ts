import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parse, stringify } from 'yaml';
import { bindRole, giveRight } from '../../../lab/operator/rights.ts';
import { type VirtualCluster, virtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { group, labels } from '../../../src/api/names.ts';
import {
  namespaces,
  roleBindings,
  spaceInstances,
  virtualClusterInstanceKubeConfigs,
} from '../../../src/api/resources.ts';
import { type GatewayWorld, gatewayWorld } from '../../e2e/gateway/gateway-world.ts';
import { knownHolder, untilReached } from '../../e2e/gateway/known-holder.ts';
import { makeCluster, makeInstance } from '../../e2e/targets/target-world.ts';

/** The kubeconfigs of a client. */
export interface Issued {
  /** Path of a kubeconfig with a token that Latchkey issued for this target alone. */
  readonly kubeconfig: string;
  /** Path of one with which the same user goes to the API server itself. */
  readonly direct: string;
  /** In which it works, and may do everything. */
  readonly namespace: string;
  /** Whether it may do everything outside of the namespace too. */
  readonly clusterWide: boolean;
}

export interface IssuedKubeconfigs {
  readonly world: GatewayWorld;
  /** The API server behind each of the targets. */
  readonly inside: VirtualCluster;
  readonly targets: Readonly<Record<'virtual cluster' | 'connected cluster' | 'space', Issued>>;
}

/** One credential for each kind of target that a scope names whole. Call it at the top of a file. */
export async function issuedKubeconfigs(): Promise<IssuedKubeconfigs> {
  const world = await gatewayWorld({ LATCHKEY_TARGET_ADDRESSES: '127.0.0.0/8' });
  const { admin, gateway, name } = world;
  const inside = await virtualCluster({ name: 'clients' });
  const [tenant, operator, member, project] = ['tenant', 'operator', 'member', 'red'].map(name) as [
    string,
    string,
    string,
    string,
  ];
  const namespace = `p-${project}`;
  const metadata = { name: namespace, labels: { [labels.project]: project } };
  await admin.createObject(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata });
  const team = await teamNamespace(inside, member);
  await bindRole(inside.admin, operator, 'cluster-admin');
  const { instance } = await makeInstance(world, inside, { namespace });
  const { cluster } = await makeCluster(world, await inside.adminKubeConfig());
  const clusterRef = { cluster: cluster.metadata.name, namespace: team };
  const space = await admin.create(spaceInstances, { clusterRef }, { name: name('space'), namespace });
  const entered = ['virtualclusterinstances', 'clusters', 'spaceinstances'];
  for (const user of [tenant, operator, member])
    await giveRight(admin, user, { apiGroups: [group], resources: entered, verbs: ['use'] });
  await Promise.all([instance, cluster, space].map(async (one) => await admin.untilReady(one)));

  const scoped = async (user: string, target: string, scope: object): Promise<string> => {
    const { key } = await knownHolder(world, { user, scope });
    await untilReached(gateway, key, target);
    return await gateway.kubeconfig(key, target);
  };
  const direct = async (user: string, groups: readonly string[] = []): Promise<string> =>
    await inside.plane.kubeconfigFor(user, groups);
  return {
    world,
    inside,
    targets: {
      'virtual cluster': {
        kubeconfig: await tokenKubeconfig(world, tenant, instance.metadata),
        direct: await direct(tenant, [`${group}:users`]),
        ...{ namespace: 'default', clusterWide: true },
      },
      'connected cluster': {
        kubeconfig: await scoped(operator, `cluster/${cluster.metadata.name}`, {
          clusters: [{ cluster: cluster.metadata.name }],
        }),
        direct: await direct(operator),
        ...{ namespace: 'default', clusterWide: true },
      },
      space: {
        kubeconfig: await scoped(member, `project/${project}/space/${space.metadata.name}`, {
          spaces: [{ project, space: space.metadata.name }],
        }),
        direct: await direct(member),
        ...{ namespace: team, clusterWide: false },
      },
    },
  };
}

/** A namespace that its member administers, and nothing else; and a kind that everyone here may use. */
async function teamNamespace({ admin, plane }: VirtualCluster, member: string): Promise<string> {
  const namespace = 'team';
  const apiGroup = 'rbac.authorization.k8s.io';
  await plane.kubectl(['apply', '-f', path.resolve(import.meta.dirname, '../../clients/shops.yaml')]);
  const metadata = { name: namespace };
  await admin.createObject(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata });
  for (const name of ['admin', 'shops'])
    await admin.createObject(roleBindings, {
      apiVersion: `${apiGroup}/v1`,
      kind: 'RoleBinding',
      metadata: { name, namespace },
      roleRef: { apiGroup, kind: 'ClusterRole', name },
      subjects: [{ apiGroup, kind: 'User', name: member }],
    });
  return namespace;
}

/** The document that the operator made, but for the address, which here is another than the one that it was told. */
async function tokenKubeconfig(
  { admin, gateway, holder, guard, name }: GatewayWorld,
  user: string,
  instance: { readonly name: string; readonly namespace?: string },
): Promise<string> {
  const { object } = await holder({ user });
  const { namespace = '' } = instance;
  const spec = { virtualClusterInstance: instance.name, accessKey: object.metadata.name };
  const made = await admin.create(virtualClusterInstanceKubeConfigs, spec, {
    name: name('kubeconfig'),
    namespace,
  });
  const { status } = await admin.untilReady(made);
  const document = parse(status.kubeConfig);
  const [{ cluster }] = document.clusters;
  const { pathname } = new URL(cluster.server);
  cluster.server = gateway.url + pathname;
  cluster['certificate-authority-data'] = Buffer.from(gateway.ca).toString('base64');
  await untilReached(gateway, document.users[0].user.token, pathname.replace('/kubernetes/', ''));
  const file = path.join(guard.folder, `${randomUUID()}.yaml`);
  await writeFile(file, stringify(document), { mode: 0o600 });
  return file;
}
