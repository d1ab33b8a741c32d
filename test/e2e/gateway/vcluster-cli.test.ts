import { describe, expect, it } from 'vitest';
import { bindRole, giveRight } from '../../../lab/operator/rights.ts';
import { until } from '../../../lab/operator/until.ts';
import { sharedVirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { apiVersion, group, labels } from '../../../src/api/names.ts';
import { namespaces, roleBindings, spaceInstances } from '../../../src/api/resources.ts';
import { isAllowed } from '../../../src/platform/access-review.ts';
import { Project } from '../kubeconfigs/kubeconfig-world.ts';
import { gatewayWorld } from './gateway-world.ts';
import { kubectlWith, untilReached } from './known-holder.ts';
import { type OwnClient, ownAPI, ownClient, ownKeys } from './own-client.ts';

/** The requests that the daily commands of the vCluster CLI send with its group renamed, in the order of its source. */
const world = await gatewayWorld();
const { admin, gateway, name } = world;
const red = await Project.ready(world, await sharedVirtualCluster());
const blue = name('blue');
const label = { [labels.project]: blue };
await admin.createObject(namespaces, {
  ...{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: `p-${blue}`, labels: label } },
});
const eu = name('eu');
const space = await admin.create(
  spaceInstances,
  { clusterRef: { cluster: eu, namespace: 'default' } },
  { name: name('web'), namespace: `p-${blue}` },
);
const instance = red.instance.metadata.name;

/** Sees and uses what there is in all projects. */
const manager = name('manager');
for (const role of ['latchkey-viewer', 'latchkey-use', 'latchkey-use-space'])
  await bindRole(admin, manager, role);
/** Sees and uses what there is in one project. */
const member = name('member');
for (const role of ['latchkey-viewer', 'latchkey-use']) await bindIn(red.namespace, member, role);
const question = { verb: 'get', resource: 'projects', namespace: red.namespace, name: red.name };
for (const user of [manager, member])
  await until('the rights count', async () => await isAllowed(admin.client, { user, groups: [] }, question));

const [all, one, none, scoped] = await Promise.all([
  ownClient(world, { user: manager }),
  ownClient(world, { user: member }),
  ownClient(world, { user: name('stranger') }),
  ownClient(world, { user: manager, scope: { projects: [{ project: red.name }] } }),
]);
await untilReached(gateway, all.key, `project/${red.name}/virtualcluster/${instance}`);

async function bindIn(namespace: string, user: string, role: string): Promise<void> {
  const api = 'rbac.authorization.k8s.io';
  await admin.createObject(roleBindings, {
    ...{ apiVersion: `${api}/v1`, kind: 'RoleBinding', metadata: { name: name('binding'), namespace } },
    roleRef: { apiGroup: api, kind: 'ClusterRole', name: role },
    subjects: [{ apiGroup: api, kind: 'User', name: user }],
  });
}

const get = async (client: OwnClient, path: string) =>
  await client.send('GET', ownAPI + path, { accept: 'application/json, */*' });
const namesOf = (items: readonly { readonly metadata: { readonly name: string } }[] = []) =>
  items.map(({ metadata }) => metadata.name);
const usable = async (client: OwnClient, path: string) => {
  const { status, body } = await get(client, path);
  const items = body.items?.filter((item: { status: { canUse: boolean } }) => item.status.canUse);
  return [status, namesOf(items)];
};

describe('list projects', () => {
  it('shows them to each as far as they go', async () => {
    await until('the gateway knows both', async () => {
      const names = namesOf((await get(all, '/projects')).body.items);
      return names.includes(red.name) && names.includes(blue);
    });
    expect(namesOf((await get(one, '/projects')).body.items)).toEqual([red.name]);
    expect(namesOf((await get(scoped, '/projects')).body.items)).toEqual([red.name]);
    expect((await get(none, '/projects')).body.items).toEqual([]);
  });

  it('shows one by name to those who see it in the list', async () => {
    for (const [client, status] of [
      [all, 200],
      [one, 403],
      [scoped, 403],
      [none, 403],
    ] as const)
      expect((await get(client, `/projects/${blue}`)).status).toBe(status);
  });
});

describe('list vclusters and list namespaces', () => {
  const instances = `/namespaces/${red.namespace}/virtualclusterinstances?extended=true`;

  it('show what can be entered, in all projects and in one', async () => {
    const [status, names] = await usable(all, '/virtualclusterinstances?extended=true');
    expect([status, names]).toEqual([200, expect.arrayContaining([instance])]);
    expect(await usable(all, instances)).toEqual([200, [instance]]);
    expect(await usable(one, instances)).toEqual([200, [instance]]);
    expect(await usable(scoped, instances)).toEqual([200, [instance]]);
    const [, spaces] = await usable(all, '/spaceinstances?extended=true');
    expect(spaces).toContain(space.metadata.name);
  });

  it('say the name of a virtual cluster where the client looks for it', async () => {
    const { body } = await get(all, instances);
    const found = body.items.find(
      ({ metadata }: { metadata: { name: string } }) => metadata.name === instance,
    );
    expect(found.spec.clusterRef.virtualCluster).toBe(instance);
  });

  it('of all projects show those of each that the user or the scope is limited to', async () => {
    expect(await usable(one, '/virtualclusterinstances?extended=true')).toEqual([200, [instance]]);
    expect(await usable(scoped, '/virtualclusterinstances?extended=true')).toEqual([200, [instance]]);
    expect((await get(none, '/virtualclusterinstances?extended=true')).status).toBe(403);
  });

  it('show nothing to those who may read and not enter', async () => {
    const reader = name('reader');
    const resources = ['virtualclusterinstances'];
    await giveRight(admin, reader, { apiGroups: [group], resources, verbs: ['get', 'list'] });
    expect(await usable(await ownClient(world, { user: reader }), instances)).toEqual([200, []]);
  });
});

describe('connect', () => {
  it('finds a virtual cluster by its name, and waits until it is ready', async () => {
    const path = `/namespaces/${red.namespace}/virtualclusterinstances/${instance}`;
    for (const client of [all, one, scoped]) {
      expect((await get(client, `/projects/${red.name}`)).status).toBe(200);
      expect((await get(client, `${path}?extended=true`)).body.status.canUse).toBe(true);
      expect((await get(client, path)).body.status.phase).toBe('Ready');
      const target = `/kubernetes/project/${red.name}/virtualcluster/${instance}`;
      expect((await client.send('GET', `${target}/version`)).status).toBe(200);
    }
  });

  it('finds the cluster of a space, and no address of it', async () => {
    const { body } = await get(all, `/projects/${blue}/clusters`);
    expect(body).toEqual({
      ...{ kind: 'ProjectClusters', apiVersion, metadata: { name: blue } },
      clusters: [{ kind: 'Cluster', apiVersion, metadata: { name: eu } }],
    });
  });
});

describe('create accesskey', () => {
  it('makes a key of the user that the Self names', async () => {
    const self = await one.send('POST', `${ownAPI}/selves`, {
      body: { kind: 'Self', apiVersion, metadata: {}, spec: {}, status: {} },
    });
    const user = self.body.status.user.name;
    const spec = { displayName: 'ci', user, type: 'User', ttl: 3_600 };
    const metadata = { name: name('cli') };
    const body = { kind: 'OwnedAccessKey', apiVersion, metadata, spec, status: {} };
    const made = await one.send('POST', ownKeys, { body });
    expect([made.status, made.body.spec.key]).toEqual([201, expect.stringMatching(/^lk_/)]);
  });
});

describe('share', () => {
  it.each([
    ['a virtual cluster', 'latchkey-use', `${red.namespace}/virtualclusterinstances/${instance}`],
    ['a space', 'latchkey-use-space', `p-${blue}/spaceinstances/${space.metadata.name}`],
  ])('%s is refused, and says which role to bind', async (_, role, place) => {
    await bindRole(admin, manager, 'latchkey-admin');
    const path = `/namespaces/${place}`;
    const { body: read } = await get(all, path);
    const extraAccessRules = [{ clusterRole: 'admin', users: ['bob'] }];
    const body = { ...read, spec: { ...read.spec, extraAccessRules } };
    const answer = await until('the right counts', async () => {
      const sent = await all.send('PUT', ownAPI + path, { body });
      return ![403, 409].includes(sent.status) && sent;
    });
    expect([answer.status, answer.body.message]).toEqual([
      422,
      expect.stringContaining(`--clusterrole=${role}`),
    ]);
  });
});

describe('kubectl', () => {
  it('gets, explains and does not change projects', async () => {
    const kubectl = await kubectlWith(world, { user: member });
    expect(await kubectl.ok(['get', 'projects'])).toMatch(
      new RegExp(`^NAME +NAMESPACE +AGE\n${red.name} +${red.namespace} +\\d+[sm]\n$`),
    );
    expect(await kubectl.ok(['get', 'project', red.name, '-o', 'name'])).toBe(
      `project.management.platform.sh/${red.name}\n`,
    );
    expect(await kubectl.ok(['auth', 'can-i', 'get', `projects/${red.name}`])).toBe('yes\n');
    const other = await kubectl.run(['auth', 'can-i', 'get', `projects/${blue}`]);
    expect([other.exitCode, other.stdout]).toEqual([1, 'no\n']);
    expect(await kubectl.ok(['explain', 'project.status'])).toContain('Namespace that the project is.');
    expect(await kubectl.ok(['api-resources', `--api-group=${group}`])).toMatch(/^projects .* Project$/m);
    for (const args of [
      ['delete', 'project', red.name],
      ['label', 'project', red.name, 'a=b'],
    ]) {
      const { stderr, exitCode } = await kubectl.run(args);
      expect([exitCode, stderr]).toEqual([1, expect.stringContaining('a project is a namespace')]);
    }
  });
});
