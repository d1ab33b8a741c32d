import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { createAuthority, createServer } from '../../../lab/controlplane/certificates.ts';
import { type ApiEvent, conditionOf, type Stored, type Target } from '../../../lab/operator/api.ts';
import { uniqueName } from '../../../lab/operator/manifest.ts';
import { giveRight } from '../../../lab/operator/rights.ts';
import { metricOf } from '../../../lab/operator/telemetry.ts';
import { until } from '../../../lab/operator/until.ts';
import { type SecretForm, virtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { targetSettings } from '../../../lab/operator/world.ts';
import { group, labels } from '../../../src/api/names.ts';
import {
  configMaps,
  events,
  namespaces,
  spaceInstances,
  virtualClusterInstances,
} from '../../../src/api/resources.ts';
import type { KubeObject } from '../../../src/kube/object.ts';
import { adminDocument } from '../../builders/admin-kube-config.ts';
import { gatewayWorld } from '../gateway/gateway-world.ts';
import { withServices } from './service-network.ts';
import {
  type Access,
  accessOf,
  accessSecretOf,
  callAs,
  foundInTarget,
  type InstanceOptions,
  inTarget,
  type Made,
  makeCluster,
  makeInstance,
  workAs,
} from './target-world.ts';

/** Where a vCluster runs, and the name of its Service. */
const shop = { name: uniqueName('shop'), project: uniqueName('red') };
const namespace = `p-${shop.project}`;
const service = `${shop.name}.${namespace}`;
const authority = createAuthority('vcluster');
const folder = await mkdtemp(path.join(tmpdir(), 'latchkey-service-'));
afterAll(async () => await rm(folder, { recursive: true }));

const cluster = await virtualCluster({ extraApiServerArgs: [`--tls-sni-cert-key=${await servingFiles()}`] });
const network = withServices({ [service]: cluster.port });
const world = await gatewayWorld(network, { ...network, ...targetSettings, LATCHKEY_LOG_LEVEL: 'trace' });
const { admin } = world;
const inside = cluster.admin;

/** The certificate of the Service, as a vCluster has it, in the form of `--tls-sni-cert-key`. */
async function servingFiles(): Promise<string> {
  const names = [shop.name, service];
  const { certificate, key } = createServer(authority, names);
  const [certFile, keyFile] = ['tls.crt', 'tls.key'].map((file) => path.join(folder, file)) as [
    string,
    string,
  ];
  await writeFile(certFile, certificate);
  await writeFile(keyFile, key, { mode: 0o600 });
  return `${certFile},${keyFile}:${names.join(',')}`;
}

describe.each<SecretForm>(['vcluster', 'cluster-api', 'kamaji'])('the Secret of %s', (form) => {
  it('makes an instance ready, and its deletion leaves nothing behind', async () => {
    const { instance } = await makeInstance(world, cluster, { form });

    const ready = await admin.untilReady(instance);

    expect(conditionOf(ready)).toMatchObject({ reason: 'Connected' });
    expect(ready.status).toMatchObject({ phase: 'Ready', observedGeneration: ready.metadata.generation });
    expect(ready.metadata.finalizers).toEqual(['management.platform.sh/virtualclusterinstance']);
    expect(await foundInTarget(cluster)).toEqual(['account', 'role', 'binding', 'users']);
    await admin.untilEvent(instance, 'Connected');
    await admin.delete(instance);
    await admin.untilGone(instance);
    await admin.untilEvent(instance, 'Deleted');
    expect(await foundInTarget(cluster)).toEqual([]);
    expect(await admin.find(accessSecretOf(instance))).toBeUndefined();
  });
});

describe('a connected cluster', () => {
  let dialled: Stored;
  let secret: Target;
  let space: Stored;

  beforeAll(async () => {
    const name = uniqueName('later');
    const clusterRef = { cluster: name, namespace: 'shop' };
    space = await admin.create(spaceInstances, { clusterRef }, { name: uniqueName('space') });
    await admin.untilRefused(space, 'ClusterNotFound');
    const made = await makeCluster(world, await cluster.adminKubeConfig());
    [dialled, secret] = [made.cluster, made.secret];
    await admin.untilReady(dialled);
  });

  it('is connected without a binding of users', async () => {
    expect(await foundInTarget(cluster)).toEqual(['account', 'role', 'binding']);
    const ready = await admin.get(dialled);
    expect(ready.status.phase).toBe('Ready');
    expect(ready.metadata.finalizers).toEqual(['management.platform.sh/cluster']);
    const access = await accessOf(world, dialled);
    const headers = { 'impersonate-user': 'alice' };
    const review = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
    expect((await callAs(access, 'POST', review, headers)).status).toBe(201);
    await admin.untilEvent(dialled, 'Connected');
  });

  it('makes its spaces ready, and takes them along when it is not', async () => {
    const clusterRef = { cluster: dialled.metadata.name, namespace: 'default' };
    const own = await admin.create(spaceInstances, { clusterRef }, { name: uniqueName('space') });
    expect((await admin.untilReady(own)).status.phase).toBe('Ready');
    const entry = (await admin.get(secret)).data?.['value'];
    await admin.patch(secret, { data: { value: null } });
    await admin.untilRefused(dialled, 'KubeConfigNotFound');
    await admin.untilRefused(own, 'ClusterNotReady');
    await admin.patch(secret, { data: { value: entry } });
    await admin.untilReady(own);
    await admin.delete(own);
    await admin.untilGone(own);
  });

  it('leaves nothing behind when it is deleted', async () => {
    const clusterRef = { cluster: dialled.metadata.name, namespace: 'default' };
    const orphan = await admin.create(spaceInstances, { clusterRef }, { name: uniqueName('space') });
    await admin.untilReady(orphan);
    await admin.delete(dialled);
    await admin.untilGone(dialled);
    await admin.untilRefused(orphan, 'ClusterNotFound');
    expect(await foundInTarget(cluster)).toEqual([]);
    expect(await admin.find(accessSecretOf(dialled))).toBeUndefined();
  });
});

describe('a vCluster as it comes', () => {
  /** Its kubeconfig says `https://localhost:8443`, and its certificate names the Service. */
  const kubeConfig = async (ca = authority) => {
    const { users } = parse(await cluster.adminKubeConfig());
    const { user } = users[0];
    return JSON.stringify(adminDocument({ server: 'https://localhost:8443', authority: ca, user }));
  };
  const make = async (options: Partial<InstanceOptions>) =>
    (await makeInstance(world, cluster, { namespace, ...options })).instance;
  const remove = async (instance: Stored) => {
    await admin.delete(instance);
    await admin.untilGone(instance);
    expect(await foundInTarget(cluster)).toEqual([]);
  };

  beforeAll(async () => {
    const metadata = { name: namespace, labels: { [labels.project]: shop.project } };
    await admin.createObject(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata });
  });

  it('is ready with no setting, is entered through the gateway, and is cleaned up', async () => {
    const instance = await make({ name: shop.name, kubeConfig: await kubeConfig() });
    await admin.untilReady(instance);
    expect((await accessOf(world, instance)).server).toBe(`https://${service}/`);
    const user = uniqueName('alice');
    await giveRight(admin, user, {
      apiGroups: [group],
      resources: ['virtualclusterinstances'],
      verbs: ['use'],
    });
    const { key } = await world.holder({ user });
    const entry = `/kubernetes/project/${shop.project}/virtualcluster/${shop.name}/api/v1/namespaces/kube-system`;
    const found = await until('the user is let in', async () => {
      const { statusCode, body } = await world.gateway.send(entry, { key });
      const answer = (await body.json()) as Stored;
      return statusCode === 200 ? answer : undefined;
    });
    const own = await inside.client.get<Stored>(namespaces, { name: 'kube-system' });
    expect(found.metadata.uid).toBe(own.metadata.uid);
    await remove(instance);
  });

  it('is dialled where the instance says instead', async () => {
    const { server } = cluster.plane;
    const own = await cluster.adminKubeConfig();
    const instance = await make({
      kubeConfig: own.replace(server, 'https://localhost:8443'),
      spec: { server },
    });
    await admin.untilReady(instance);
    expect((await accessOf(world, instance)).server).toBe(`${server}/`);
    await remove(instance);
  });

  it('is not taken for one that another authority vouches for', async () => {
    const stranger = createAuthority('stranger');
    const spec = { server: `https://${service}` };
    const instance = await make({ kubeConfig: await kubeConfig(stranger), spec });
    await admin.untilRefused(instance, 'TargetNotTrusted');
    await admin.delete(instance);
    await admin.untilGone(instance);
  });
});

describe('a ready instance', () => {
  let made: Made;
  let access: Access;
  const kubeConfigs: string[] = [];

  beforeAll(async () => {
    kubeConfigs.push(await cluster.adminKubeConfig('canary-administrator'));
    const ingress = { enabled: true, host: 'shop.example.com:8443' };
    const spec = { accessPoint: { ingress } };
    made = await makeInstance(world, cluster, { spec, kubeConfig: kubeConfigs[0] as string });
    await admin.untilReady(made.instance);
    access = await accessOf(world, made.instance);
  });

  it('shows the address of its ingress, and nothing of its kubeconfig', async () => {
    const { status } = await admin.get(made.instance);
    expect(status).toMatchObject({
      endpoint: 'https://shop.example.com:8443',
      virtualCluster: { accessPoint: { ingress: { enabled: true } } },
    });
  });

  it('has its access in a Secret that says whose it is', async () => {
    const { metadata } = await admin.get(accessSecretOf(made.instance));
    expect(metadata.labels).toEqual({
      'management.platform.sh/owner-kind': 'VirtualClusterInstance',
      'management.platform.sh/owner-uid': made.instance.metadata.uid,
      'management.platform.sh/purpose': 'target',
    });
    const end = Date.parse(metadata.annotations?.['management.platform.sh/token-expires'] ?? '');
    expect(end - Date.now()).toBeGreaterThan(23 * 3_600_000);
    expect(access.server).toBe(`${cluster.plane.server}/`);
  });

  const impersonator = 'system:serviceaccount:kube-system:latchkey-impersonator';
  const review = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
  const extra = 'impersonate-extra-management.platform.sh%2faccess-key';
  it.each([
    ['a user', { 'impersonate-user': 'alice' }],
    ['a user with a group', { 'impersonate-user': 'alice', 'impersonate-group': 'dev' }],
    ['a user that came with a key', { 'impersonate-user': 'alice', [extra]: 'ci/uid' }],
    [
      'a user that came with a key that has a scope',
      { 'impersonate-user': 'alice', [extra]: 'ci/uid', [`${extra}-limited`]: 'true' },
    ],
  ])('lets the impersonator speak for %s', async (_whom, headers) => {
    const { status, body } = await callAs(access, 'POST', review, headers);
    expect(status).toBe(201);
    expect(body.status.userInfo.username).toBe('alice');
  });

  const alice = { 'impersonate-user': 'alice' };
  it.each([
    ['reads pods', 'GET', '/api/v1/namespaces/default/pods', {}],
    ['reads Secrets', 'GET', '/api/v1/namespaces/kube-system/secrets', {}],
    [
      'reads its own role',
      'GET',
      '/apis/rbac.authorization.k8s.io/v1/clusterroles/latchkey-impersonator',
      {},
    ],
    [
      'makes a token for itself',
      'POST',
      '/api/v1/namespaces/kube-system/serviceaccounts/latchkey-impersonator/token',
      {},
    ],
    [
      'speaks for a ServiceAccount',
      'POST',
      review,
      { 'impersonate-user': 'system:serviceaccount:kube-system:default' },
    ],
    ['speaks for a UID', 'POST', review, { ...alice, 'impersonate-uid': 'some-uid' }],
    ['adds another extra', 'POST', review, { ...alice, 'impersonate-extra-scopes': 'all' }],
    [
      'speaks for a ServiceAccount that has more rights',
      'GET',
      '/api/v1/namespaces/kube-system/secrets',
      { 'impersonate-user': 'system:serviceaccount:kube-system:namespace-controller' },
    ],
    [
      'speaks for a ServiceAccount and names a group',
      'POST',
      review,
      {
        'impersonate-user': 'system:serviceaccount:kube-system:default',
        'impersonate-group': 'system:serviceaccounts',
      },
    ],
    ['speaks for itself', 'POST', review, { 'impersonate-user': impersonator }],
    ['speaks for a node', 'POST', review, { 'impersonate-user': 'system:node:worker-1' }],
    [
      'speaks for a node and names its group',
      'POST',
      review,
      { 'impersonate-user': 'system:node:worker-1', 'impersonate-group': 'system:nodes' },
    ],
    ['makes a user an administrator', 'POST', review, { ...alice, 'impersonate-group': 'system:masters' }],
    [
      'reads Secrets as an administrator',
      'GET',
      '/api/v1/namespaces/kube-system/secrets',
      { ...alice, 'impersonate-group': 'system:masters' },
    ],
    [
      'hides the group of administrators among others',
      'POST',
      review,
      { ...alice, 'impersonate-group': ['a', 'b', 'c', 'd', 'system:masters'] },
    ],
  ] as const)('refuses it when it %s', async (_what, method, path, headers) => {
    expect((await callAs(access, method, path, headers)).status).toBe(403);
  });

  it('lets the impersonator do for its users what they may do, by each verb', async () => {
    const key = { namespace: 'default', name: uniqueName('verbs') };
    const draft = { metadata: { name: key.name }, data: { value: '1' } };
    const collection = '/api/v1/namespaces/default/configmaps';
    const query = new URLSearchParams({ watch: 'true', timeoutSeconds: '1' });
    const onlyIt = new URLSearchParams({ fieldSelector: `metadata.name=${key.name}` });
    await workAs(access, { user: 'alice', groups: ['management.platform.sh:users'] }, async (client) => {
      const made = await client.create<KubeObject>(configMaps, draft, { namespace: 'default' });
      await client.get(configMaps, key);
      await client.list(configMaps, { namespace: 'default' });
      const watch = client.watch(collection, query, { signal: AbortSignal.timeout(10_000), ...watchLimits });
      for await (const { type } of watch) expect(type).toBe('ADDED');
      await client.replace(configMaps, key, { ...made, data: { value: '2' } });
      await client.mergePatch(configMaps, key, { data: { value: '3' } });
      await client.delete(configMaps, key);
      await client.request('DELETE', collection, { query: onlyIt });
      for (const path of ['/version', '/apis']) await client.request('GET', path);
    });
  });

  it('lets it do nothing for a user who may do nothing', async () => {
    for (const path of ['/api/v1/namespaces/kube-system/secrets', '/metrics'])
      expect((await callAs(access, 'GET', path, alice)).status).toBe(403);
    const { rules } = (await inside.get(inTarget.role)) as unknown as { rules: { verbs: string[] }[] };
    expect(rules.flatMap(({ verbs }) => verbs)).not.toContain('impersonate');
  });

  const role = async (name: string) => (await inside.find(inTarget[name as 'role']))?.metadata.uid;
  it.each(['users', 'binding', 'role', 'account'] as const)(
    'gets it back when somebody deletes: %s',
    async (what) => {
      const before = await role(what);
      await inside.delete(inTarget[what]);
      await until(`another ${what}`, async () => ![undefined, before].includes(await role(what)));
      await until('the token works', async () => {
        const present = await accessOf(world, made.instance);
        return (await callAs(present, 'POST', review, alice)).status === 201;
      });
    },
  );

  const mallory = { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'mallory' };
  const rule = { apiGroups: ['*'], resources: ['*'], verbs: ['*'] };
  const selector = { matchLabels: { 'rbac.authorization.k8s.io/aggregate-to-admin': 'true' } };
  it.each([
    ['a subject of the users binding', 'users', { subjects: [mallory] }],
    ['a subject of the impersonator binding', 'binding', { subjects: [mallory] }],
    ['a rule', 'role', { rules: [rule] }],
    ['rules of other roles', 'role', { aggregationRule: { clusterRoleSelectors: [selector] } }],
    ['a mounted token', 'account', { automountServiceAccountToken: true }],
    ['another owner', 'account', { metadata: { labels: { 'management.platform.sh/owner-uid': 'nobody' } } }],
    ['no owner', 'users', { metadata: { labels: null } }],
  ] as const)('takes out what somebody adds: %s', async (_what, where, patch) => {
    const before = outlineOf(await inside.get(inTarget[where]));
    expect(outlineOf(await inside.patch(inTarget[where], patch))).not.toEqual(before);
    await until('as before', async () => {
      const present = await inside.find(inTarget[where]);
      return present !== undefined && JSON.stringify(outlineOf(present)) === JSON.stringify(before);
    });
  });

  it('gives its users another role when that is wanted', async () => {
    const changed = await admin.patch(made.instance, { spec: { access: { clusterRole: 'view' } } });
    await admin.untilReady(changed);
    expect((await inside.get(inTarget.users)) as unknown).toMatchObject({ roleRef: { name: 'view' } });
  });

  it('writes nothing while nothing changes', async () => {
    const versions = async () => {
      const objects = [await admin.get(made.instance), await admin.get(accessSecretOf(made.instance))];
      for (const place of Object.values(inTarget)) objects.push(await inside.get(place));
      return objects.map(({ metadata }) => metadata.resourceVersion);
    };
    const series = 'latchkey_reconcile_total{controller="virtualclusterinstances",outcome="requeue"}';
    const looks = async () => await metricOf(world.operator, series);
    const before = await versions();
    const seen = await looks();
    await until('three more looks', async () => (await looks()) >= seen + 3);
    expect(await versions()).toEqual(before);
  });

  it('shares its virtual cluster with an instance that wants the same, and with no other', async () => {
    const same = await makeInstance(world, cluster, { spec: { access: { clusterRole: 'view' } } });
    await admin.untilReady(same.instance);
    const other = await makeInstance(world, cluster, { spec: { access: { clusterRole: 'edit' } } });
    const refused = await admin.untilRefused(other.instance, 'TargetInUse');
    expect(conditionOf(refused, 'Stalled')).toMatchObject({ status: 'True' });
    expect((await inside.get(inTarget.users)) as unknown).toMatchObject({ roleRef: { name: 'view' } });
    for (const { instance } of [other, same]) {
      await admin.delete(instance);
      await admin.untilGone(instance);
    }
    expect(await foundInTarget(cluster)).toEqual(['account', 'role', 'binding', 'users']);
  });

  it('leaves its virtual cluster to the instance that shares it, whose token works all the time', async () => {
    const { instance } = await makeInstance(world, cluster, { spec: { access: { clusterRole: 'view' } } });
    await admin.untilReady(instance);
    const [shared, account] = [await accessOf(world, instance), await role('account')];
    await admin.delete(made.instance);
    await admin.untilGone(made.instance);
    expect(await admin.find(accessSecretOf(made.instance))).toBeUndefined();
    expect(await accessOf(world, instance)).toEqual(shared);
    expect((await callAs(shared, 'POST', review, alice)).status).toBe(201);
    expect(await role('account')).toBe(account);
    await admin.delete(instance);
    await admin.untilGone(instance);
    expect(await foundInTarget(cluster)).toEqual([]);
  });

  it('has shown no one its kubeconfig or its token', async () => {
    const { items } = await admin.client.list<ApiEvent>(events);
    const instances = await admin.client.list<Stored>(virtualClusterInstances);
    const told = [JSON.stringify([items, instances.items]), await world.operator.log()].join('\n');
    expect(told).toContain('"reason":"Connected"');
    for (const canary of canariesOf([...kubeConfigs, access.token])) expect(told).not.toContain(canary);
  });
});

const watchLimits = { idleMs: 10_000, maxLineBytes: 2 ** 20 };

/** Selects what the operator decides on, without what the API server counts. */
function outlineOf(object: Stored): object {
  const { metadata, kind: _kind, ...rest } = object;
  return { ...rest, labels: metadata.labels };
}

/** Everything in a kubeconfig by which it would be known: keys, certificates, addresses, names. */
function canariesOf(texts: readonly string[]): readonly string[] {
  const words = texts.flatMap((text) => text.match(/[A-Za-z0-9+/=_.:-]{40,}/g) ?? []);
  return [...words.map((word) => word.slice(0, 60)), cluster.plane.server, 'canary-administrator'];
}
