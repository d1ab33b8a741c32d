import { createLocalJWKSet, jwtVerify } from 'jose';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { giveRight } from '../../../lab/operator/rights.ts';
import { until } from '../../../lab/operator/until.ts';
import { sharedVirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { virtualClusterInstanceKubeConfigs } from '../../../src/api/resources.ts';
import { Holder, Project, readingOf, signedLifeOf } from '../kubeconfigs/kubeconfig-world.ts';
import { CurlHolder, curlHolder, withReplica } from './curl-holder.ts';
import { gatewaySettings, gatewayWorld } from './gateway-world.ts';
import { untilReached } from './known-holder.ts';
import { management, ownAPI, ownKeys, ownTokens } from './own-client.ts';

const world = await withReplica(await gatewayWorld(), gatewaySettings);
const { admin, name, plane } = world;
const inside = await sharedVirtualCluster();
const project = await Project.ready(world, inside);
const closed = await Project.ready(world, inside, { host: 'none' });
const instance = project.instance.metadata.name;
const [alice, root] = [name('alice'), name('root')];
for (const { namespace } of [project, closed])
  await plane.kubectl([
    ...['create', 'rolebinding', name('use'), `--namespace=${namespace}`],
    ...['--role=users', `--user=${alice}`],
  ]);
await giveRight(admin, root, { apiGroups: [''], resources: ['users', 'groups'], verbs: ['impersonate'] });
for (const right of [
  { resources: ['ownedaccesskeys'], verbs: ['manage-platform-fields'] },
  { resources: ['virtualclusterinstances'], verbs: ['use', 'use-as-admin'] },
])
  await giveRight(admin, root, { apiGroups: ['management.platform.sh'], ...right });
const holder = await curlHolder(world, { user: alice });
const platform = await curlHolder(world, { user: root });
const target = ({ name: of, instance: { metadata } }: Project) =>
  `project/${of}/virtualcluster/${metadata.name}`;
for (const replica of world.replicas)
  for (const one of [project, closed]) await untilReached(replica, holder.key, target(one));

const time = '2026-11-21T10:00:00Z';
/** Every list of a scope, and every field in them. */
const scope = {
  roles: [{ role: 'platform-cli', projects: ['red'], virtualClusters: ['shop'] }],
  projects: [{ project: 'red' }, { project: '*' }],
  spaces: [{ project: 'red', space: '*' }],
  virtualClusters: [{ project: 'red', virtualCluster: '*' }],
  clusters: [{ cluster: 'staging' }, { cluster: '*' }],
  rules: [
    {
      verbs: ['get'],
      resources: [{ group: 'apps', resources: ['deployments', 'deployments/*'] }],
      resourceNames: ['shop'],
      namespaces: ['default', ''],
      requestTargets: ['Cluster'],
      cluster: 'staging',
    },
    { verbs: ['get'], nonResourceURLs: ['/healthz', '/logs/*'] },
    { virtualClusters: [{ name: 'shop', namespace: 'p-red' }] },
  ],
};

describe('an access key', () => {
  const identity = {
    ...{ userId: '1', username: 'bob', preferredUsername: 'Bob', email: 'bob@example.com' },
    ...{ emailVerified: true, extraClaims: { plan: 'large' }, groups: ['dev'], connector: 'ldap' },
    identityRefresh: time,
  };
  const spec = {
    ...{ displayName: 'CI', description: 'builds the shop', user: name('bob'), groups: ['oncall'] },
    ...{ disabled: false, ttl: 3_600, ttlAfterLastActivity: true, scope, type: 'User', identity },
    oidcProvider: { clientId: 'c', nonce: 'n', redirectUri: 'https://a.example.com', scopes: 'openid' },
    parent: 'old',
  };
  const hidden = ['connector-data-of-bob', 'id-token-of-bob', 'access-token-of-bob', 'refresh-token-of-bob'];
  const [connectorData, idToken, accessToken, refreshToken] = hidden;
  const oidcLogin = { idToken, accessToken, refreshToken, lastRefresh: time };

  it('2.3-25, 2.3-31, 2.3-32, 2.3-33 keeps all that was sent, and shows no data of a login to anybody', async () => {
    const sent = { ...spec, identity: { ...identity, connectorData }, oidcLogin };
    const made = await platform.send('POST', ownKeys, { body: { spec: sent } });
    expect([made.status, made.text]).toEqual([201, made.text]);
    const read = await platform.send('GET', `${ownKeys}/${made.body.metadata.name}`);
    for (const { body, text } of [made, read]) {
      expect(body.spec).toMatchObject({ ...spec, oidcLogin: { lastRefresh: time } });
      for (const secret of hidden) expect(text).not.toContain(secret);
    }
    expect(read.body.spec).toEqual({
      ...spec,
      key: expect.stringMatching(/^sha256:/),
      oidcLogin: { lastRefresh: time },
    });
  });

  it('9-5, 2.3-15, 2.3-16, 2.6-6 is taken with deprecated fields, and kubectl and curl are told which', async () => {
    const { status, head } = await platform.curl('POST', ownKeys, {
      body: {
        spec: { parent: 'old', oidcLogin: { lastRefresh: time }, scope: { rules: [{ verbs: ['get'] }] } },
      },
    });
    expect(status).toBe(201);
    for (const field of ['spec.parent', 'spec.oidcLogin', 'spec.scope.rules'])
      expect(head).toMatch(new RegExp(`^warning: 299 .*${field}: deprecated`, 'im'));
  });

  it('2.3-7, 5-1 that the client chooses is the bearer of its requests', async () => {
    const key = `chosen-by-${alice}`;
    const { holder: chosen, object } = await holder.make({ key });
    expect([chosen.key, object.spec.key]).toEqual([key, key]);
    expect((await chosen.send('GET', `${management}/version`)).status).toBe(200);
  });

  const team = name('team');
  it.each<[string, string, object, string, string[]]>([
    ['2.3-3', 'a user', { user: 'bob' }, 'bob', []],
    [
      '2.3-6',
      'a user with more groups',
      { user: 'bob', groups: ['oncall', 'dev'] },
      'bob',
      ['oncall', 'dev'],
    ],
    ['2.3-4', 'a team', { team }, `team:${team}`, [`team:${team}`]],
    ['2.3-5', 'a subject', { subject: 'metrics:writer' }, 'metrics:writer', []],
  ])('%s speaks for %s', async (_, __, who, ...[username, groups]) => {
    const { holder: speaker } = await platform.make({ ...who, scope: {} });
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
    const place = `${management}/apis/authentication.k8s.io/v1/selfsubjectreviews`;
    const { body } = await speaker.send('POST', place, { body: review });
    const { userInfo } = body.status;
    expect([userInfo.username, userInfo.groups.toSorted()]).toEqual([
      username,
      [...groups, 'system:authenticated'].toSorted(),
    ]);
  });
});

/** Whether the request is beyond the gate; the platform may have its own answer to it. */
async function reaches(sender: CurlHolder, place: string, method = 'GET'): Promise<boolean> {
  const { status, body } = await sender.send(method, `/kubernetes${place}`);
  expect([401, 500], JSON.stringify(body)).not.toContain(status);
  return body?.details?.causes?.[0]?.reason !== 'ERR_SCOPE';
}

const claimsIn = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());

describe('a token', () => {
  it('2.4-1, 2.4-2, 5-4 has the life and the scope that were asked for, and says so in its claims', async () => {
    const spec = { ttl: 1_200, scope: { clusters: [{ cluster: 'staging' }] } };
    const { status, body } = await holder.send('POST', ownTokens, { body: { spec } });
    expect([status, body.spec]).toEqual([201, spec]);
    const claims = claimsIn(body.status.token);
    expect([claims.sub, claims.exp - claims.iat]).toEqual([alice, spec.ttl]);
    expect(claims['management.platform.sh'].scopes).toEqual([spec.scope]);
  });

  it('2.4-5, 4.2-1 is a signed JWT, also where nothing is said about it', async () => {
    for (const body of [{}, { spec: {} }, { kind: 'DirectClusterEndpointToken', metadata: {}, spec: {} }]) {
      const made = await holder.send('POST', ownTokens, { body });
      expect([made.status, made.body.kind]).toEqual([201, 'DirectClusterEndpointToken']);
      const keys = await holder.send('GET', '/openid/v1/jwks');
      const { payload } = await jwtVerify(made.body.status.token, createLocalJWKSet(keys.body));
      expect(payload.sub).toBe(alice);
    }
  });

  it('2.4-3, 2.4-4, 9-5 keeps deprecated fields, and the client is told which', async () => {
    const spec = { ttl: 600, scope, rules: [{ verbs: ['list'] }], allowPlatformCli: true };
    const { status, head, body } = await holder.send('POST', ownTokens, { body: { spec } });
    expect([status, body.spec]).toEqual([201, spec]);
    for (const field of ['spec.rules', 'spec.allowPlatformCli'])
      expect(head).toMatch(new RegExp(`^warning: 299 .*${field}: deprecated`, 'im'));
    const { body: read } = await holder.send('GET', `${ownTokens}/${body.metadata.name}`);
    expect(read.spec).toEqual(spec);
  });

  it.each([
    ['2.6-1, 2.6-7', 'the role', { scope: { roles: [{ role: 'platform-cli' }] } }],
    ['2.4-4', 'the deprecated field', { allowPlatformCli: true }],
  ])('%s with %s for the command-line client reads what that needs, and no more', async (_, __, spec) => {
    const { body } = await holder.send('POST', ownTokens, { body: { spec: { ttl: 600, ...spec } } });
    const client = await CurlHolder.with(world, body.status.token);
    const clusters = '/management/apis/management.platform.sh/v1/clusters';
    expect([await reaches(client, clusters), await reaches(client, '/management/api/v1/pods')]).toEqual([
      true,
      false,
    ]);
  });
});

describe('a kubeconfig of an instance', () => {
  const pathOf = (namespace: string, of: string) =>
    `${ownAPI}/namespaces/${namespace}/virtualclusterinstances/${of}/kubeconfig`;
  const place = pathOf(project.namespace, instance);
  const requestWith = (spec: object, namespace = project.namespace) => ({
    apiVersion: 'management.platform.sh/v1',
    kind: 'VirtualClusterInstanceKubeConfig',
    metadata: { namespace },
    spec,
  });
  const post = async (spec: object) => await holder.send('POST', place, { body: requestWith(spec) });
  const kubeConfigWith = async (spec: object): Promise<string> => {
    const { status, body, text } = await post(spec);
    if (status !== 200) throw new Error(text);
    return body.status.kubeConfig;
  };

  it('2.5-1, 2.5-5, 2.5-7, 4.1-1, 4.1-3, 4.1-4, 4.1-5 comes with what was sent, and is a whole document in YAML', async () => {
    const spec = { certificateTTL: 3_600, server: 'https://other.example.com', clientCert: false };
    const { status, body } = await holder.curl('POST', place, { body: requestWith(spec) });
    expect([status, body]).toEqual([200, expect.objectContaining({ spec })]);
    expect([body.apiVersion, body.kind, body.metadata.namespace]).toEqual([
      'management.platform.sh/v1',
      'VirtualClusterInstanceKubeConfig',
      project.namespace,
    ]);
    const document = body.status.kubeConfig;
    expect(document.split('\n').length).toBeGreaterThan(10);
    const { clusters, users, contexts, ...rest } = parse(document);
    expect(rest).toMatchObject({ apiVersion: 'v1', kind: 'Config', 'current-context': contexts[0].name });
    expect([clusters.length, users.length, contexts.length]).toEqual([1, 1, 1]);
    expect(readingOf(document).server).toBe(spec.server);
  });

  it.each([
    ['nothing', {}],
    ['a kind', { kind: 'VirtualClusterInstanceKubeConfig' }],
    ['an empty spec', { spec: {} }],
    ['one field', { spec: { certificateTTL: 600 } }],
  ])('4.1-4 comes where the body says %s', async (_, body) => {
    const { status, body: answer } = await holder.send('POST', place, { body });
    expect([status, answer.metadata.namespace, typeof answer.status.kubeConfig]).toEqual([
      ...[200, project.namespace, 'string'],
    ]);
  });

  it('2.5-1 is for an instance of that namespace', async () => {
    const { status, body } = await holder.send('POST', place, { body: requestWith({}, 'default') });
    expect([status, body.kind]).toEqual([400, 'Status']);
  });

  it('4.1-2 does not come for an instance that is not there', async () => {
    const { status, body } = await holder.send('POST', pathOf(project.namespace, 'none'), { body: {} });
    expect([status, body.reason]).toEqual([404, 'NotFound']);
  });

  it('4.1-3 does not come without a credential', async () => {
    const stranger = await CurlHolder.with(world, 'a-key-of-a-stranger');
    const { status, body } = await stranger.send('POST', place, { body: requestWith({}) });
    expect([status, body.reason]).toEqual([401, 'Unauthorized']);
  });

  it('4.1-6 with a certificate needs an ingress endpoint of the instance, and with a token none', async () => {
    const { namespace, instance: of } = closed;
    const without = pathOf(namespace, of.metadata.name);
    const body = (spec: object) => ({ body: requestWith(spec, namespace) });
    const refused = await holder.send('POST', without, body({ clientCert: true }));
    expect([refused.status, refused.body.kind]).toEqual([409, 'Status']);
    expect(refused.body.message).toContain('NoIngressEndpoint');
    const left = async () =>
      (await admin.client.list(virtualClusterInstanceKubeConfigs, { namespace })).items;
    await until('nothing is left', async () => (await left()).length === 0);
    expect((await holder.send('POST', without, body({}))).status).toBe(200);
  });

  it('2.5-6, 5-5 with a token opens the virtual cluster through each replica', async () => {
    const { token = '', certificate } = readingOf(await kubeConfigWith({ clientCert: false }));
    expect(certificate).toBeUndefined();
    for (const replica of world.replicas) await untilReached(replica, token, target(project));
    const client = await CurlHolder.with(world, token);
    for (const _ of world.replicas) {
      const { status } = await client.send('GET', `/kubernetes/${target(project)}/api/v1/namespaces/default`);
      expect(status).toBe(200);
    }
  });

  it('2.5-6, 5-5 with a certificate opens the virtual cluster at its own address', async () => {
    const opened = new Holder(await kubeConfigWith({ clientCert: true, certificateTTL: 600 }), inside);
    const { certificate, server, token } = opened.reading;
    expect(certificate?.subject).toContain('management.platform.sh:kubeconfig:');
    expect([new URL(server).host, token]).toEqual([new URL(inside.plane.server).host, undefined]);
    await opened.untilAllowed();
    const body = { metadata: { name: name('written') } };
    const maps = '/api/v1/namespaces/default/configmaps';
    expect(await opened.call(maps, { method: 'POST', body })).toBe(201);
    await opened.close();
  });

  it('2.2-1, 2.2-8, 2.2-10 has a name in its namespace, which it never leaves', async () => {
    const metadata = { name: name('twice'), namespace: 'default' };
    await admin.create(virtualClusterInstanceKubeConfigs, { virtualClusterInstance: instance }, metadata);
    const collection = `${ownAPI}/namespaces/${project.namespace}/virtualclusterinstancekubeconfigs`;
    const body = { metadata: { name: metadata.name }, spec: { virtualClusterInstance: instance } };
    const made = [
      await holder.send('POST', collection, { body }),
      await holder.send('POST', collection, { body }),
    ];
    expect(made.map(({ status }) => status)).toEqual([201, 409]);
    const own = `${collection}/${metadata.name}`;
    const type = 'application/merge-patch+json';
    const { body: read } = await until('each replica has it', async () => {
      const answers = [await holder.send('GET', own), await holder.send('GET', own)];
      return answers.every(({ status }) => status === 200) && answers[0];
    });
    const moved = { ...read, metadata: { ...read.metadata, namespace: 'default' } };
    const refused = [
      await holder.send('PUT', own, { body: moved }),
      await holder.send('PATCH', own, { type, body: { metadata: { namespace: 'default' } } }),
    ];
    expect(refused.map(({ status }) => status)).toEqual([400, 400]);
    expect((await holder.send('GET', own)).body.metadata.namespace).toBe(project.namespace);
  });

  it.each([
    ['2.5-3, 8-3', 'one day where nothing is said', {}, 86_400],
    ['2.5-2', 'as many seconds as it says', { certificateTTL: 1_200 }, 1_200],
  ])('%s with a token is good for %s', async (_, __, spec, seconds) => {
    const { exp, iat } = claimsIn(readingOf(await kubeConfigWith(spec)).token ?? '');
    expect(exp - iat).toBe(seconds);
  });

  it.each([
    ['2.5-3, 8-3', 'one day where nothing is said', {}, 86_400],
    ['2.5-2', 'as many seconds as it says', { certificateTTL: 1_200 }, 1_200],
    ['2.5-4, 8-3', 'as long as the signer gives for 0', { certificateTTL: 0 }, 31_536_000],
  ])('%s with a certificate is good for %s', async (_, __, spec, seconds) => {
    const reading = readingOf(await kubeConfigWith({ ...spec, clientCert: true }));
    // The signer takes the minutes that it begins in the past from a long life, and may take a moment.
    expect(signedLifeOf(reading)).toBeGreaterThanOrEqual(seconds - 600);
    expect(signedLifeOf(reading)).toBeLessThanOrEqual(seconds + 30);
  });
});

describe('a scope', () => {
  const pods = '/api/v1/pods';
  const inDefault = '/api/v1/namespaces/default';
  const instances = `/apis/management.platform.sh/v1/namespaces/${project.namespace}/virtualclusterinstances`;
  const clusters = '/apis/management.platform.sh/v1/clusters';
  const deployments = '/apis/apps/v1/deployments';
  const here = project.name;
  const red = '/project/red';
  const blue = '/project/blue';
  const rule = (fields: object) => ({ rules: [fields] });
  const onPods = (...resources: string[]) => rule({ resources: [{ group: '', resources }] });
  const podsAnd = (fields: object) => rule({ resources: [{ group: '', resources: ['pods'] }], ...fields });
  const virtualClusters = (project: string, virtualCluster: string) => ({
    virtualClusters: [{ project, virtualCluster }],
  });

  it.each<[string, string, object, string, string]>([
    [
      '2.6-2, 2.6-10',
      'projects, by name',
      { projects: [{ project: 'red' }] },
      `${red}/space/a${inDefault}`,
      `${blue}/space/a`,
    ],
    [
      '2.6-10',
      'projects, all',
      { projects: [{ project: '*' }] },
      `${blue}/virtualcluster/a${pods}`,
      `/cluster/a${pods}`,
    ],
    [
      '2.6-3, 2.6-12',
      'spaces, by name',
      { spaces: [{ project: 'red', space: 'a' }] },
      `${red}/space/a${inDefault}`,
      `${red}/space/b${inDefault}`,
    ],
    [
      '2.6-11',
      'spaces, by project',
      { spaces: [{ project: 'red', space: 'a' }] },
      `${red}/space/a${inDefault}`,
      `${blue}/space/a${inDefault}`,
    ],
    [
      '2.6-12',
      'spaces, all of a project',
      { spaces: [{ project: 'red', space: '*' }] },
      `${red}/space/b${inDefault}`,
      `${red}/virtualcluster/b${pods}`,
    ],
    [
      '2.6-4, 2.6-14',
      'virtual clusters, by name',
      virtualClusters('red', 'a'),
      `${red}/virtualcluster/a${pods}`,
      `${red}/virtualcluster/b${pods}`,
    ],
    [
      '2.6-13',
      'virtual clusters, by project',
      virtualClusters('red', 'a'),
      `${red}/virtualcluster/a${pods}`,
      `${blue}/virtualcluster/a${pods}`,
    ],
    [
      '2.6-14',
      'virtual clusters, all of a project',
      virtualClusters('red', '*'),
      `${red}/virtualcluster/b${pods}`,
      `${blue}/virtualcluster/b${pods}`,
    ],
    [
      '2.6-5, 2.6-15',
      'clusters, by name',
      { clusters: [{ cluster: 'a' }] },
      `/cluster/a${pods}`,
      `/cluster/b${pods}`,
    ],
    ['2.6-15', 'clusters, all', { clusters: [{ cluster: '*' }] }, `/cluster/b${pods}`, `/management${pods}`],
    [
      '2.6-1, 2.6-7',
      'roles',
      { roles: [{ role: 'platform-cli' }] },
      `/management${clusters}`,
      `/management${pods}`,
    ],
    [
      '2.6-8',
      'roles in projects',
      { roles: [{ role: 'platform-cli', projects: [here] }] },
      `/management${instances}`,
      `/management${clusters}/a`,
    ],
    [
      '2.6-9',
      'roles for virtual clusters',
      { roles: [{ role: 'platform-cli', virtualClusters: [instance] }] },
      `/management${instances}/${instance}`,
      `/management${instances}/other`,
    ],
    [
      '2.6-6, 2.6-16',
      'verbs',
      rule({ verbs: ['get'] }),
      `/management${inDefault}/pods/a`,
      `/management${pods}`,
    ],
    [
      '2.6-17, 2.6-24',
      'resources by group',
      rule({ resources: [{ group: 'apps', resources: [] }] }),
      `/management${deployments}`,
      `/management${pods}`,
    ],
    [
      '2.6-25',
      'all of a group where none is named',
      rule({ resources: [{ group: '', resources: [] }] }),
      `/management${inDefault}/pods/a/log`,
      `/management${deployments}`,
    ],
    [
      '2.6-17, 2.6-24',
      'resources by name, of the core group',
      onPods('pods'),
      `/management${pods}`,
      `/management${inDefault}/pods/a/log`,
    ],
    [
      '2.6-25',
      'every resource',
      onPods('*'),
      `/management${inDefault}/pods/a/log`,
      `/management${deployments}`,
    ],
    [
      '2.6-25',
      'one subresource',
      onPods('pods/log'),
      `/management${inDefault}/pods/a/log`,
      `/management${inDefault}/pods/a`,
    ],
    [
      '2.6-25',
      'all subresources',
      onPods('pods/*'),
      `/management${inDefault}/pods/a/log`,
      `/management${inDefault}/pods/a`,
    ],
    [
      '2.6-25',
      'a subresource of any',
      onPods('*/log'),
      `/management${inDefault}/pods/a/log`,
      `/management${inDefault}/pods/a`,
    ],
    [
      '2.6-18',
      'names of objects',
      podsAnd({ resourceNames: ['a'] }),
      `/management${inDefault}/pods/a`,
      `/management${inDefault}/pods/b`,
    ],
    [
      '2.6-19',
      'namespaces',
      rule({ namespaces: ['default'] }),
      `/management${inDefault}/pods`,
      '/management/api/v1/nodes',
    ],
    [
      '2.6-19',
      'no namespace',
      rule({ namespaces: [''] }),
      '/management/api/v1/nodes',
      `/management${inDefault}/pods`,
    ],
    [
      '2.6-20',
      'other paths',
      rule({ nonResourceURLs: ['/logs/*'] }),
      '/management/logs/a',
      '/management/metrics',
    ],
    [
      '2.6-21',
      'kinds of targets',
      rule({ requestTargets: ['Management'] }),
      `/management${pods}`,
      `/cluster/a${pods}`,
    ],
    ['2.6-22', 'one cluster', rule({ cluster: 'a' }), `/cluster/a${pods}`, `/management${pods}`],
    ['2.6-22', 'one cluster and no other', rule({ cluster: 'a' }), `/cluster/a${pods}`, `/cluster/b${pods}`],
    [
      '2.6-23',
      'virtual clusters of a rule',
      rule({ virtualClusters: [{ name: 'a', namespace: '' }] }),
      `${red}/virtualcluster/a${pods}`,
      `/cluster/a${pods}`,
    ],
    [
      '2.6-27',
      'virtual clusters of a rule, by name',
      rule({ virtualClusters: [{ name: 'a', namespace: '' }] }),
      `${red}/virtualcluster/a${pods}`,
      `${red}/virtualcluster/b${pods}`,
    ],
    [
      '2.6-27, 2.6-28',
      'virtual clusters of a rule, by namespace',
      rule({ virtualClusters: [{ name: '', namespace: project.namespace }] }),
      `/project/${here}/virtualcluster/b${pods}`,
      `/project/${closed.name}/virtualcluster/b${pods}`,
    ],
  ])('%s allows %s, and nothing beside it', async (_, __, given, ...[inside, outside]) => {
    const { holder: narrow } = await holder.make({ ttl: 600, scope: given });
    expect([await reaches(narrow, inside), await reaches(narrow, outside)]).toEqual([true, false]);
  });

  it.each<[string, string, object, string, string]>([
    ['2.6-16', 'every verb', rule({ cluster: 'a', verbs: [] }), 'DELETE', `/cluster/a${inDefault}/pods/a`],
    ['2.6-17', 'every resource', rule({ cluster: 'a', resources: [] }), 'GET', `/cluster/a${deployments}`],
    ['2.6-18', 'every name', podsAnd({ resourceNames: [] }), 'GET', `/cluster/a${inDefault}/pods/a`],
    ['2.6-19', 'every namespace', podsAnd({ namespaces: [] }), 'GET', `/cluster/a${inDefault}/pods`],
    ['2.6-19', 'all namespaces', podsAnd({ namespaces: [] }), 'GET', `/cluster/a${pods}`],
    ['2.6-21', 'every target', podsAnd({ requestTargets: [] }), 'GET', `/cluster/a${pods}`],
    ['2.6-22', 'the platform', podsAnd({ cluster: '' }), 'GET', `/management${pods}`],
    ['2.6-22', 'every cluster', podsAnd({ cluster: '' }), 'GET', `/cluster/b${pods}`],
    ['2.6-23', 'other targets too', podsAnd({ virtualClusters: [] }), 'GET', `/cluster/a${pods}`],
  ])('%s with an empty field in its rule allows %s', async (_, __, given, ...[method, place]) => {
    const { holder: narrow } = await holder.make({ ttl: 600, scope: given });
    expect([await reaches(narrow, place, method), await reaches(narrow, '/management/api/v1/nodes')]).toEqual(
      [...[true, false]],
    );
  });

  it('2.3-11, 5-3 bounds what is below it as well', async () => {
    const { holder: narrow } = await holder.make({ scope: { clusters: [{ cluster: 'a' }] } });
    const { holder: child } = await narrow.make({ scope: { clusters: [{ cluster: '*' }] } });
    const reached = async () => [
      await reaches(child, `/cluster/a${pods}`),
      await reaches(child, `/cluster/b${pods}`),
    ];
    await until(
      'the child works',
      async () => (await child.send('GET', `${management}/version`)).status === 200,
    );
    expect(await reached()).toEqual([true, false]);
  });
});

const kubeConfigs = `${ownAPI}/namespaces/default/virtualclusterinstancekubeconfigs`;

/** Its number in the contract, a field by its path, a value of it, and one of another type. */
type Line = readonly [line: string, field: string, value: unknown, wrong: unknown, beside?: object];

const text = (line: string, field: string): Line => [line, field, 'a text', 5];

const keyLines: readonly Line[] = [
  text('2.3-1', 'displayName'),
  text('2.3-2', 'description'),
  ['2.3-3', 'user', 'bob', 5],
  ['2.3-4', 'team', 'red', 5, { scope: {} }],
  ['2.3-5', 'subject', 'metrics:writer', 5, { scope: {} }],
  ['2.3-6', 'groups', ['oncall'], 'oncall', { user: 'bob', scope: {} }],
  ['2.3-8', 'disabled', true, 'true'],
  ...[60.5, -1, '600'].map((wrong): Line => ['2.3-9, 8-1', 'ttl', 600, wrong]),
  ['2.3-10', 'ttlAfterLastActivity', true, 'true', { ttl: 600 }],
  ['2.3-11', 'scope', { clusters: [{ cluster: 'a' }] }, 'a'],
  ['2.3-12', 'type', 'User', 5],
  ['2.3-13', 'identity', { userId: '1' }, 'bob'],
  ['2.3-14', 'oidcProvider', { clientId: 'a' }, 'a'],
  text('2.3-15, 9-5', 'parent'),
  ['2.3-16, 9-5', 'oidcLogin', { lastRefresh: time }, 'a'],
  text('2.3-17', 'identity.userId'),
  text('2.3-18', 'identity.username'),
  text('2.3-19', 'identity.preferredUsername'),
  text('2.3-20', 'identity.email'),
  ['2.3-21', 'identity.emailVerified', true, 'true'],
  ['2.3-22', 'identity.extraClaims', { plan: 'large' }, 'large'],
  ['2.3-23', 'identity.groups', ['a'], 'a'],
  text('2.3-24', 'identity.connector'),
  ['2.3-26', 'identity.identityRefresh', time, 5],
  text('2.3-27', 'oidcProvider.clientId'),
  text('2.3-28', 'oidcProvider.nonce'),
  text('2.3-29', 'oidcProvider.redirectUri'),
  text('2.3-30', 'oidcProvider.scopes'),
  ['2.3-34', 'oidcLogin.lastRefresh', time, 5],
];

const scopeLines: readonly Line[] = [
  ['2.6-1', 'roles', [{ role: 'platform-cli' }], 'platform-cli'],
  ['2.6-2', 'projects', [{ project: 'red' }], 'red'],
  ['2.6-3', 'spaces', [{ project: 'red', space: 'a' }], 'a'],
  ['2.6-4', 'virtualClusters', [{ project: 'red', virtualCluster: 'shop' }], 'shop'],
  ['2.6-5', 'clusters', [{ cluster: 'a' }], 'a'],
  ['2.6-6', 'rules', [{ verbs: ['get'] }], 'get'],
  ['2.6-7', 'roles.0.role', 'platform-cli', 5],
  ['2.6-8', 'roles.0.projects', ['red'], 'red', { role: 'platform-cli' }],
  ['2.6-9', 'roles.0.virtualClusters', ['shop'], 'shop', { role: 'platform-cli' }],
  ['2.6-10', 'projects.0.project', '*', 5],
  ['2.6-11', 'spaces.0.project', 'red', 5, { space: 'a' }],
  ['2.6-12', 'spaces.0.space', '*', 5, { project: 'red' }],
  ['2.6-13', 'virtualClusters.0.project', 'red', 5, { virtualCluster: 'shop' }],
  ['2.6-14', 'virtualClusters.0.virtualCluster', '*', 5, { project: 'red' }],
  ['2.6-15', 'clusters.0.cluster', '*', 5],
  ['2.6-16', 'rules.0.verbs', ['get'], 'get'],
  ['2.6-17', 'rules.0.resources', [{ group: 'apps' }], 'apps'],
  [
    ...(['2.6-18', 'rules.0.resourceNames', ['shop'], 'shop'] as const),
    { resources: [{ group: 'apps', resources: ['deployments'] }] },
  ],
  ['2.6-19', 'rules.0.namespaces', ['default', ''], 'default'],
  ['2.6-20', 'rules.0.nonResourceURLs', ['/healthz', '/logs/*'], '/healthz'],
  ['2.6-21', 'rules.0.requestTargets', ['Management'], 'Management'],
  ['2.6-22', 'rules.0.cluster', 'a', 5],
  ['2.6-23', 'rules.0.virtualClusters', [{ name: 'shop', namespace: 'p-red' }], 'shop'],
  ['2.6-24', 'rules.0.resources.0.group', 'apps', 5],
  ['2.6-25', 'rules.0.resources.0.resources', ['deployments', 'jobs/*', 'pods/log'], 'pods'],
  ['2.6-27', 'rules.0.virtualClusters.0.name', 'shop', 5],
  ['2.6-28', 'rules.0.virtualClusters.0.namespace', 'p-red', 5],
];

const tokenLines: readonly Line[] = [
  ...[60.5, '600'].map((wrong): Line => ['2.4-1, 8-2', 'ttl', 600, wrong]),
  ['2.4-2', 'scope', { clusters: [{ cluster: 'a' }] }, 'a'],
  ['2.4-3, 9-5', 'rules', [{ verbs: ['get'] }], 'get'],
  ['2.4-4, 9-5', 'allowPlatformCli', true, 'true'],
];

const kubeConfigLines: readonly Line[] = [
  ...[60.5, '600'].map((wrong): Line => ['2.5-2, 8-3', 'certificateTTL', 600, wrong]),
  ['2.5-5', 'server', 'https://shop.example.com', 5],
  ['2.5-6', 'clientCert', true, 'true'],
];

const named = (lines: readonly Line[]) => lines.map(([line, field, ...rest]) => ({ line, field, rest }));
type Named = ReturnType<typeof named>[number];

/** `a.0.b` and 5 become `{a: [{b: 5, …beside}]}`. */
function at(field: string, value: unknown, beside: object = {}): object {
  const [first = '', ...rest] = field.split('.');
  if (rest.length === 0) return { ...beside, [first]: value };
  if (rest[0] === '0') return { [first]: [at(rest.slice(1).join('.'), value, beside)] };
  return { [first]: at(rest.join('.'), value, beside) };
}

const tryOut = async (place: string, spec: object) =>
  await platform.send('POST', `${place}?dryRun=All`, { body: { metadata: { name: name('any') }, spec } });

async function expectField(place: string, { field, rest: [value, wrong, beside] }: Named): Promise<void> {
  const spec = at(field, value, beside);
  const taken = await tryOut(place, spec);
  expect([taken.status, taken.body.spec]).toEqual([201, expect.objectContaining(spec)]);
  const refused = await tryOut(place, at(field, wrong, beside));
  expect([refused.status, refused.body.kind]).toEqual([422, 'Status']);
  const [last = ''] = field
    .split('.')
    .filter((part) => part !== '0')
    .slice(-1);
  expect(refused.body.message).toContain(last);
}

describe('a field of an access key is kept, and of its type only', () => {
  it.each(named(keyLines))('$line: $field', async (line) => await expectField(ownKeys, line));

  it('2.3-7 key, which shows as its hash', async () => {
    const { status, body } = await tryOut(ownKeys, { key: `chosen-by-${root}` });
    expect([status, body.spec.key]).toEqual([201, expect.stringMatching(/^sha256:[0-9a-f]{64}$/)]);
    for (const wrong of ['too-short', 5]) expect((await tryOut(ownKeys, { key: wrong })).status).toBe(422);
  });

  it.each([
    ['2.3-25', 'identity.connectorData'],
    ['2.3-31', 'oidcLogin.idToken'],
    ['2.3-32', 'oidcLogin.accessToken'],
    ['2.3-33', 'oidcLogin.refreshToken'],
  ])('%s %s, which is taken and never shown', async (_, field) => {
    const secret = `of-${root}-alone`;
    const { status, text: shown } = await tryOut(ownKeys, at(field, secret));
    expect([status, shown.includes(secret)]).toEqual([201, false]);
    expect((await tryOut(ownKeys, at(field, 5))).status).toBe(422);
  });
});

describe('a field of a token is kept, and of its type only', () => {
  it.each(named(tokenLines))('$line: $field', async (line) => await expectField(ownTokens, line));
});

describe('a field of a kubeconfig is kept, and of its type only', () => {
  it.each(named(kubeConfigLines))('$line: $field', async (line) => await expectField(kubeConfigs, line));
});

describe.each([
  ['2.6 the scope of a key', ownKeys],
  ['2.6 the scope of a token', ownTokens],
])('%s: a field is kept, and of its type only', (_, place) => {
  it.each(named(scopeLines))('$line: $field', async ({ field, rest: [value, wrong, beside] }) => {
    const withScope = (given: unknown) => ({ scope: at(field, given, beside) });
    const taken = await tryOut(place, withScope(value));
    expect([taken.status, taken.body.spec]).toEqual([201, expect.objectContaining(withScope(value))]);
    const refused = await tryOut(place, withScope(wrong));
    expect([refused.status, refused.body.kind]).toEqual([422, 'Status']);
  });

  it('2.6-18 resourceNames needs resources', async () => {
    const { status, body } = await tryOut(place, { scope: { rules: [{ resourceNames: ['a'] }] } });
    expect([status, body.reason]).toEqual([422, 'Invalid']);
  });

  it.each([['/a*'], ['/a/*/b'], ['*/a']])(
    '2.6-20 nonResourceURLs has a wildcard only as the whole last step: not %s',
    async (url) => {
      const { status, body } = await tryOut(place, { scope: { rules: [{ nonResourceURLs: [url] }] } });
      expect([status, body.reason]).toEqual([422, 'Invalid']);
    },
  );

  it.each([[['*', 'pods']], [['pods/*', 'pods/log']], [['*/log', 'pods/log']]])(
    '2.6-26 resources with wildcards do not overlap: not %j',
    async (resources) => {
      const { status, body } = await tryOut(place, {
        scope: { rules: [{ resources: [{ group: '', resources }] }] },
      });
      expect([status, body.reason]).toEqual([422, 'Invalid']);
    },
  );
});
