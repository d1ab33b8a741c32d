import { afterAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { RunningGateway } from '../../../lab/gateway/running-gateway.ts';
import { giveRight } from '../../../lab/operator/rights.ts';
import { baseURL } from '../../../lab/operator/running-operator.ts';
import { until } from '../../../lab/operator/until.ts';
import { sharedVirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { group, labels } from '../../../src/api/names.ts';
import { namespaces, spaceInstances, virtualClusterInstanceKubeConfigs } from '../../../src/api/resources.ts';
import { makeCluster, makeInstance } from '../targets/target-world.ts';
import { gatewayWorld } from './gateway-world.ts';
import { untilReached } from './known-holder.ts';
import { serveUntilRefused } from './load.ts';

const world = await gatewayWorld();
const { gateway, admin } = world;
const inside = await sharedVirtualCluster();
const alice = world.name('alice');
const project = world.name('red');
const namespace = `p-${project}`;
await admin.createObject(namespaces, {
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name: namespace, labels: { [labels.project]: project } },
});
const { instance } = await makeInstance(world, inside, { namespace });
const { cluster } = await makeCluster(world, await inside.adminKubeConfig());
await Promise.all([admin.untilReady(instance), admin.untilReady(cluster)]);
await giveRight(inside.admin, alice, { apiGroups: [''], resources: ['configmaps'], verbs: ['*'] });

const vc = `/kubernetes/project/${project}/virtualcluster/${instance.metadata.name}`;
const cl = `/kubernetes/cluster/${cluster.metadata.name}`;
const maps = '/api/v1/namespaces/default/configmaps';

async function get(path: string, key: string) {
  return await until(`an answer of ${path}`, async () => {
    const { statusCode, body } = await gateway.send(path, { key });
    const text = await body.text();
    return statusCode === 401 || statusCode === 503
      ? undefined
      : { status: statusCode, body: JSON.parse(text) };
  });
}

async function post(path: string, key: string, object: object): Promise<number> {
  const headers = { 'content-type': 'application/json' };
  const { statusCode, body } = await gateway.send(path, {
    method: 'POST',
    key,
    headers,
    body: JSON.stringify(object),
  });
  await body.dump();
  return statusCode;
}

const metadata = { name: world.name('chart') };
const namespaced = '/namespaces/default';
const rbac = '/apis/rbac.authorization.k8s.io/v1';
const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' };
const names = { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' };
const schema = { openAPIV3Schema: { type: 'object' } };
/** Charts and operators are installed with these; each could lift a limit on the platform. */
const whatChartsMake: readonly (readonly [string, object])[] = [
  [`/api/v1${namespaced}/secrets`, { metadata }],
  [`/api/v1${namespaced}/serviceaccounts`, { metadata }],
  [`/api/v1${namespaced}/serviceaccounts/${metadata.name}/token`, { spec: { audiences: [] } }],
  [`${rbac}${namespaced}/roles`, { metadata, rules: [] }],
  [`${rbac}${namespaced}/rolebindings`, { metadata, roleRef }],
  [`${rbac}/clusterroles`, { metadata, rules: [] }],
  [`${rbac}/clusterrolebindings`, { metadata, roleRef }],
  [
    '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    {
      metadata: { name: 'widgets.example.com' },
      spec: {
        ...{ group: 'example.com', scope: 'Namespaced', names },
        versions: [{ name: 'v1', served: true, storage: true, schema }],
      },
    },
  ],
  ['/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations', { metadata, webhooks: [] }],
];

describe('a target', () => {
  it('is entered with the verb use on it, of the platform', async () => {
    const { key } = await world.holder({ user: alice });
    for (const path of [vc + maps, cl + maps]) {
      const refused = await until('the target is known', async () => {
        const answer = await get(path, key);
        return answer.status !== 404 && answer;
      });
      expect(refused).toMatchObject({ status: 403 });
      expect(refused.body.message).toContain(`User "${alice}" needs the verb "use" on`);
    }
    await giveRight(admin, alice, {
      apiGroups: [group],
      resources: ['virtualclusterinstances', 'clusters', 'spaceinstances'],
      verbs: ['use'],
    });
    for (const path of [vc + maps, cl + maps])
      await until('the right counts', async () => (await get(path, key)).status === 200);
  });

  it('knows the user and, in a virtual cluster, the group of its users', async () => {
    const { key } = await world.holder({ user: alice });
    const review = async (target: string) => {
      const answer = await gateway.send(`${target}/apis/authentication.k8s.io/v1/selfsubjectreviews`, {
        method: 'POST',
        key,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }),
      });
      return ((await answer.body.json()) as { status: { userInfo: object } }).status.userInfo;
    };
    for (const path of [vc, cl])
      await until('the user is let in', async () => (await get(path + maps, key)).status === 200);
    expect(await review(vc)).toMatchObject({
      username: alice,
      groups: ['management.platform.sh:users', 'system:authenticated'],
    });
    expect(await review(cl)).toMatchObject({ username: alice, groups: ['system:authenticated'] });
  });

  it('that is a space is one namespace of its cluster', async () => {
    const clusterRef = { cluster: cluster.metadata.name, namespace: 'default' };
    const space = await admin.create(
      spaceInstances,
      { clusterRef },
      { name: world.name('space'), namespace },
    );
    const { key } = await world.holder({ user: alice });
    const path = `/kubernetes/project/${project}/space/${space.metadata.name}`;
    await until('the space is there', async () => (await get(path + maps, key)).status === 200);
    expect(await get(`${path}/api/v1/namespaces/kube-system/configmaps`, key)).toMatchObject({ status: 403 });
    expect(await get(`${path}/api/v1/configmaps`, key)).toMatchObject({ status: 403 });
    // As an installer begins, which goes on where it is there already.
    const kubeconfig = await gateway.kubeconfig(key, path.replace('/kubernetes/', ''));
    const made = async (name: string) => await world.plane.kubectl(['create', 'ns', name], { kubeconfig });
    expect((await made('default')).stderr).toMatch(
      /^Error from server \(AlreadyExists\): namespaces "default" already exists/m,
    );
    expect((await made('another')).stderr).toMatch(/\(Forbidden\): .* which is the namespace "default"/);
  });

  it('that is a space is Ready once its namespace is there, and not longer', async () => {
    const metadata = { name: world.name('missing') };
    const clusterRef = { cluster: cluster.metadata.name, namespace: metadata.name };
    const space = await admin.create(spaceInstances, { clusterRef }, { name: metadata.name, namespace });
    await admin.untilRefused(space, 'NamespaceNotFound');
    const { key } = await world.holder({ user: alice });
    const path = `project/${project}/space/${metadata.name}`;
    await untilReached(gateway, key, path);
    const kubeconfig = await gateway.kubeconfig(key, path);
    const create = ['create', 'ns', metadata.name];
    expect((await world.plane.kubectl(create, { kubeconfig })).stderr).toMatch(
      /does not exist in its cluster/,
    );
    const made = await inside.admin.createObject(namespaces, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata,
    });
    await admin.untilReady(space);
    await inside.admin.delete(made);
    await admin.untilRefused(space, 'NamespaceNotFound');
  });

  it('is reached with an issued kubeconfig, and nothing else is', async () => {
    const holder = await world.holder({ user: alice });
    const made = await admin.create(
      virtualClusterInstanceKubeConfigs,
      { virtualClusterInstance: instance.metadata.name, accessKey: holder.object.metadata.name },
      { name: world.name('kubeconfig'), namespace },
    );
    const ready = await admin.untilReady(made);
    const { clusters, users } = parse(ready.status.kubeConfig);
    const { token } = users[0].user;
    expect(clusters[0].cluster.server).toBe(baseURL + vc);
    expect(await get(vc + maps, token)).toMatchObject({ status: 200 });
    for (const [path, object] of whatChartsMake)
      expect([path, await post(vc + path, token, object)]).toEqual([path, 201]);
    for (const path of ['/api/v1/secrets', '/apis/rbac.authorization.k8s.io/v1/clusterroles'])
      expect(await get(vc + path, token)).toMatchObject({ status: 200 });
    // Someone may try a Latchkey of their own there. Without its kinds, the virtual cluster says so itself.
    const theirs = await gateway.send(`${vc}/apis/${group}/v1/ownedaccesskeys`, { key: token });
    expect([theirs.statusCode, await theirs.body.text()]).toEqual([404, '404 page not found\n']);
    for (const path of [cl + maps, `/kubernetes/management${maps}`])
      expect(await get(path, token)).toMatchObject({ status: 403, body: { reason: 'Forbidden' } });
    await admin.patch(holder.object, { spec: { disabled: true } });
    const refused = async () => (await gateway.send(vc + maps, { key: token })).statusCode === 401;
    await until('the kubeconfig ends with its key', refused);
  });

  it('is one of a project: a namespace that only has such a name holds none, with the label taken away none either', async () => {
    const another = world.name('grey');
    const place = `p-${another}`;
    const made = await admin.createObject(namespaces, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: place, labels: { [labels.project]: project } },
    });
    const label = async (value: string | null) =>
      await admin.patch(made, { metadata: { labels: { [labels.project]: value } } });
    const { instance: stray } = await makeInstance(world, inside, { namespace: place });
    await admin.untilReady(stray);
    const { key } = await world.holder({ user: alice });
    const path = `/kubernetes/project/${another}/virtualcluster/${stray.metadata.name}${maps}`;
    expect(await get(path, key)).toMatchObject({ status: 404 });
    // Only what the gateway has let in before is refused for its label, and not because nothing is known of it yet.
    for (const other of [project, null]) {
      await label(another);
      await until('the project is known', async () => (await get(path, key)).status === 200);
      const watch = await gateway.send(`${path}?watch=true`, { key });
      const ended = (async () => {
        for await (const _ of watch.body);
      })().catch(() => 'cut' as const);
      await label(other);
      expect(await ended).toBe('cut');
      expect(await get(path, key)).toMatchObject({ status: 404 });
    }
  });

  it('that is being deleted is 404, its watches are cut, and its kubeconfigs refused', async () => {
    const { instance: other } = await makeInstance(world, inside, { namespace });
    await admin.untilReady(other);
    const { key, object } = await world.holder({ user: alice });
    const made = await admin.create(
      virtualClusterInstanceKubeConfigs,
      { virtualClusterInstance: other.metadata.name, accessKey: object.metadata.name },
      { name: world.name('kubeconfig'), namespace },
    );
    const { token } = parse((await admin.untilReady(made)).status.kubeConfig).users[0].user;
    const path = `/kubernetes/project/${project}/virtualcluster/${other.metadata.name}`;
    for (const bearer of [key, token])
      await until('the instance is known', async () => (await get(path + maps, bearer)).status === 200);
    const watch = async (bearer: string) => await gateway.send(`${path}${maps}?watch=true`, { key: bearer });
    const watches = [await watch(key), await watch(token)];
    expect(watches.map(({ statusCode }) => statusCode)).toEqual([200, 200]);
    const readOn = async ({ body }: (typeof watches)[number]) => {
      for await (const _ of body);
    };
    const ended = Promise.allSettled(watches.map(readOn));
    const statusWith = async (bearer: string) => {
      const { statusCode, body } = await gateway.send(path + maps, { key: bearer });
      await body.dump();
      return statusCode;
    };
    const served = await serveUntilRefused(
      async () => await statusWith(token),
      async () => await admin.delete(other),
    );
    expect(served.late).toBe(0);
    expect((await ended).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await get(path + maps, key)).toMatchObject({ status: 404 });
    expect(await statusWith(token)).toBe(401);
  });
});

it('an address that is not allowed is not dialled', async () => {
  const strict = await RunningGateway.start(world.plane, world.guard, {
    name: world.name('strict'),
    env: { LATCHKEY_TARGET_ADDRESSES: '192.0.2.0/24' },
  });
  afterAll(async () => void (await strict.end()));
  const { key } = await world.holder({ user: alice });
  const answer = await until('the key is known', async () => {
    const { statusCode, body } = await strict.send(vc + maps, { key });
    await body.dump();
    return statusCode === 401 ? undefined : statusCode;
  });
  expect(answer).toBe(503);
  await until('the log says why', async () => (await strict.log()).includes('ERR_TARGET_ADDRESS'));
});
