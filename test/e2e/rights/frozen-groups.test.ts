import { expect, it } from 'vitest';
import { sharedVirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { annotations, group } from '../../../src/api/names.ts';
import { reasons } from '../../../src/api/reasons.ts';
import {
  clusterRoleBindings,
  clusterRoles,
  directClusterEndpointTokens,
  virtualClusterInstanceKubeConfigs,
} from '../../../src/api/resources.ts';
import { Holder, Project, tracesOf } from '../kubeconfigs/kubeconfig-world.ts';
import { Issuer } from '../lifecycle/issuer.ts';
import { introduce } from './people.ts';

const world = await operatorWorld();
const cluster = await sharedVirtualCluster();
const { admin, name } = world;
const issuer = new Issuer(admin);
const rotation = (value: string) => ({ metadata: { annotations: { [annotations.rotate]: value } } });

it('who has left a group loses it with the next change of a token, and no change moves its end', async () => {
  const user = name('member');
  const [member, former] = [
    await introduce(world, user, ['ops', 'dev']),
    await introduce(world, user, ['dev']),
  ];
  const token = await admin.untilReady(await member.create(directClusterEndpointTokens, { ttl: 600 }));
  const before = await issuer.verify(token.status.token);
  expect(before.groups).toEqual(['ops', 'dev']);

  const changes = [
    rotation('1'),
    { spec: { ttl: 7_776_000 } },
    { spec: { scope: { clusters: [{ cluster: '*' }] } } },
  ];
  for (const [index, change] of changes.entries()) {
    const answer = await former.patch(token, directClusterEndpointTokens, change);
    expect(answer.status).toBe(200);
    const { status } = await admin.until(
      token,
      'a successor',
      (object) => object.status.serial === index + 2,
    );
    const claims = await issuer.verify(status.token);
    expect(claims.groups).toEqual(['dev']);
    expect(claims.exp).toBeLessThanOrEqual(before.exp ?? 0);
  }
});

it('who has left the group that held `use-as-admin` gets no other certificate', async () => {
  const [user, admins] = [name('member'), name('cluster-admins')];
  const project = await Project.ready(world, cluster);
  await admin.createObject(clusterRoleBindings, {
    ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding', metadata: { name: admins } },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: await useRole(admins) },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: admins }],
  });
  const member = await introduce(world, user, [admins]);
  const spec = { clientCert: true, virtualClusterInstance: project.instance.metadata.name };
  const made = await member.create(virtualClusterInstanceKubeConfigs, spec, { namespace: project.namespace });
  const holder = new Holder((await admin.untilReady(made)).status.kubeConfig, cluster);
  await holder.untilAllowed();

  const former = await introduce(world, user);
  expect((await former.patch(made, virtualClusterInstanceKubeConfigs, rotation('1'))).status).toBe(200);
  const { status } = await admin.untilRefused(made, reasons.useNotAllowed);
  expect(status).not.toHaveProperty('kubeConfig');
  expect(await holder.refusals()).toEqual(new Set([403]));
  expect(await tracesOf(made, cluster)).toEqual([]);
  await holder.close();
});

/** A cluster role with both verbs on instances. */
async function useRole(roleName: string): Promise<string> {
  const rules = [
    { apiGroups: [group], resources: ['virtualclusterinstances'], verbs: ['use', 'use-as-admin'] },
  ];
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  await admin.createObject(clusterRoles, {
    apiVersion,
    kind: 'ClusterRole',
    metadata: { name: roleName },
    rules,
  });
  return roleName;
}
