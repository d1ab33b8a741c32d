import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { giveRight } from '../../../lab/operator/rights.ts';
import { until } from '../../../lab/operator/until.ts';
import { sharedVirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { Project, readingOf, signedLifeOf } from '../kubeconfigs/kubeconfig-world.ts';
import { CurlHolder, curlHolder, withReplica } from './curl-holder.ts';
import { gatewayWorld } from './gateway-world.ts';
import { untilReached } from './known-holder.ts';
import { management, ownAPI, ownKeys, ownTokens } from './own-client.ts';

const env = { LATCHKEY_TARGET_ADDRESSES: '127.0.0.0/8' };
const world = await withReplica(await gatewayWorld(env), env);
const { admin, name, plane } = world;
const project = await Project.ready(world, await sharedVirtualCluster());
const instance = project.instance.metadata.name;
const [alice, root] = [name('alice'), name('root')];
await plane.kubectl([
  ...['create', 'rolebinding', name('use'), `--namespace=${project.namespace}`],
  ...['--role=users', `--user=${alice}`],
]);
await giveRight(admin, root, { apiGroups: [''], resources: ['users', 'groups'], verbs: ['impersonate'] });
await giveRight(admin, root, {
  apiGroups: ['management.platform.sh'],
  resources: ['ownedaccesskeys'],
  verbs: ['manage-platform-fields'],
});
const holder = await curlHolder(world, { user: alice });
const platform = await curlHolder(world, { user: root });
for (const replica of world.replicas)
  await untilReached(replica, holder.key, `project/${project.name}/virtualcluster/${instance}`);

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

describe('2.3 an access key', () => {
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

  it('keeps all that was sent, and shows no data of a login to anybody', async () => {
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

  it('9 is taken with deprecated fields, and kubectl and curl are told which', async () => {
    const { status, head } = await platform.send('POST', ownKeys, {
      body: {
        spec: { parent: 'old', oidcLogin: { lastRefresh: time }, scope: { rules: [{ verbs: ['get'] }] } },
      },
    });
    expect(status).toBe(201);
    for (const field of ['spec.parent', 'spec.oidcLogin', 'spec.scope.rules'])
      expect(head).toMatch(new RegExp(`^warning: 299 .*${field}: deprecated`, 'im'));
  });

  it('5 that the client chooses is the bearer of its requests', async () => {
    const key = `chosen-by-${alice}`;
    const { holder: chosen, object } = await holder.make({ key });
    expect([chosen.key, object.spec.key]).toEqual([key, key]);
    expect((await chosen.send('GET', `${management}/version`)).status).toBe(200);
  });

  const team = name('team');
  it.each<[string, object, string, string[]]>([
    ['a user', { user: 'bob' }, 'bob', []],
    ['a user with more groups', { user: 'bob', groups: ['oncall', 'dev'] }, 'bob', ['oncall', 'dev']],
    ['a team', { team }, `team:${team}`, [`team:${team}`]],
    ['a subject', { subject: 'metrics:writer' }, 'metrics:writer', []],
  ])('speaks for %s', async (_, who, username, groups) => {
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
async function reaches(sender: CurlHolder, place: string): Promise<boolean> {
  const { status, body } = await sender.send('GET', `/kubernetes${place}`);
  expect([401, 500]).not.toContain(status);
  return body?.details?.causes?.[0]?.reason !== 'ERR_SCOPE';
}

const claimsIn = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());

describe('2.4, 4.2 a token', () => {
  it('has the life and the scope that were asked for, and says so in its claims', async () => {
    const spec = { ttl: 1_200, scope: { clusters: [{ cluster: 'staging' }] } };
    const { status, body } = await holder.send('POST', ownTokens, { body: { spec } });
    expect([status, body.spec]).toEqual([201, spec]);
    const claims = claimsIn(body.status.token);
    expect([claims.sub, claims.exp - claims.iat]).toEqual([alice, spec.ttl]);
    expect(claims['management.platform.sh'].scopes).toEqual([spec.scope]);
  });

  it('keeps deprecated fields, and the client is told which', async () => {
    const spec = { ttl: 600, scope, rules: [{ verbs: ['list'] }], allowPlatformCli: true };
    const { status, head, body } = await holder.send('POST', ownTokens, { body: { spec } });
    expect([status, body.spec]).toEqual([201, spec]);
    for (const field of ['spec.rules', 'spec.allowPlatformCli'])
      expect(head).toMatch(new RegExp(`^warning: 299 .*${field}: deprecated`, 'im'));
    const { body: read } = await holder.send('GET', `${ownTokens}/${body.metadata.name}`);
    expect(read.spec).toEqual(spec);
  });

  it.each([
    ['the role', { scope: { roles: [{ role: 'platform-cli' }] } }],
    ['the deprecated field', { allowPlatformCli: true }],
  ])('with %s for the command-line client reads what that needs, and no more', async (_, spec) => {
    const { body } = await holder.send('POST', ownTokens, { body: { spec: { ttl: 600, ...spec } } });
    const client = await CurlHolder.with(world, body.status.token);
    const clusters = '/management/apis/management.platform.sh/v1/clusters';
    expect([await reaches(client, clusters), await reaches(client, '/management/api/v1/pods')]).toEqual([
      true,
      false,
    ]);
  });
});

describe('2.5, 4.1 a kubeconfig of an instance', () => {
  const place = `${ownAPI}/namespaces/${project.namespace}/virtualclusterinstances/${instance}/kubeconfig`;
  const post = async (spec: object) =>
    await holder.send('POST', place, {
      body: {
        apiVersion: 'management.platform.sh/v1',
        kind: 'VirtualClusterInstanceKubeConfig',
        metadata: { namespace: project.namespace },
        spec,
      },
    });
  const kubeConfigWith = async (spec: object): Promise<string> => {
    const { status, body, text } = await post(spec);
    if (status !== 200) throw new Error(text);
    return body.status.kubeConfig;
  };

  it('comes with what was sent, and is a whole document in YAML', async () => {
    const spec = { certificateTTL: 3_600, server: 'https://other.example.com', clientCert: false };
    const { status, body } = await post(spec);
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
  });

  it.each([
    ['one day where nothing is said', {}, 86_400],
    ['as many seconds as it says', { certificateTTL: 1_200 }, 1_200],
  ])('with a token is good for %s', async (_, spec, seconds) => {
    const { exp, iat } = claimsIn(readingOf(await kubeConfigWith(spec)).token ?? '');
    expect(exp - iat).toBe(seconds);
  });

  it.each([
    ['one day where nothing is said', {}, 86_400],
    ['as many seconds as it says', { certificateTTL: 1_200 }, 1_200],
    ['as long as the signer gives for 0', { certificateTTL: 0 }, 31_536_000],
  ])('with a certificate is good for %s', async (_, spec, seconds) => {
    const reading = readingOf(await kubeConfigWith({ ...spec, clientCert: true }));
    // The signer takes the minutes that it begins in the past from a long life, and may take a moment.
    expect(signedLifeOf(reading)).toBeGreaterThanOrEqual(seconds - 600);
    expect(signedLifeOf(reading)).toBeLessThanOrEqual(seconds + 30);
  });

  it.each(['60', 60.5])('has a whole number of seconds: not %j', async (certificateTTL) => {
    const { status, body } = await post({ certificateTTL });
    expect([status, body.kind]).toEqual([422, 'Status']);
  });
});

describe('2.6 a scope', () => {
  const pods = '/api/v1/pods';
  const inDefault = '/api/v1/namespaces/default';
  const instances = `/apis/management.platform.sh/v1/namespaces/${project.namespace}/virtualclusterinstances`;
  const here = project.name;
  const rule = (fields: object) => ({ rules: [fields] });
  const onPods = (...resources: string[]) => rule({ resources: [{ group: '', resources }] });

  it.each<[string, object, string, string]>([
    [
      'projects, by name',
      { projects: [{ project: 'red' }] },
      `/project/red/space/a${inDefault}`,
      '/project/blue/space/a',
    ],
    [
      'projects, all',
      { projects: [{ project: '*' }] },
      `/project/blue/virtualcluster/a${pods}`,
      `/cluster/a${pods}`,
    ],
    [
      'spaces, by name',
      { spaces: [{ project: 'red', space: 'a' }] },
      `/project/red/space/a${inDefault}`,
      `/project/red/space/b${inDefault}`,
    ],
    [
      'spaces, all of a project',
      { spaces: [{ project: 'red', space: '*' }] },
      `/project/red/space/b${inDefault}`,
      `/project/red/virtualcluster/b${pods}`,
    ],
    [
      'virtual clusters, by name',
      { virtualClusters: [{ project: 'red', virtualCluster: 'a' }] },
      `/project/red/virtualcluster/a${pods}`,
      `/project/red/virtualcluster/b${pods}`,
    ],
    [
      'virtual clusters, all of a project',
      { virtualClusters: [{ project: 'red', virtualCluster: '*' }] },
      `/project/red/virtualcluster/b${pods}`,
      `/project/blue/virtualcluster/b${pods}`,
    ],
    ['clusters, by name', { clusters: [{ cluster: 'a' }] }, `/cluster/a${pods}`, `/cluster/b${pods}`],
    ['clusters, all', { clusters: [{ cluster: '*' }] }, `/cluster/b${pods}`, `/management${pods}`],
    [
      'roles',
      { roles: [{ role: 'platform-cli' }] },
      '/management/apis/management.platform.sh/v1/clusters',
      `/management${pods}`,
    ],
    [
      'roles in projects',
      { roles: [{ role: 'platform-cli', projects: [here] }] },
      `/management${instances}`,
      '/management/apis/management.platform.sh/v1/clusters',
    ],
    [
      'roles for virtual clusters',
      { roles: [{ role: 'platform-cli', virtualClusters: [instance] }] },
      `/management${instances}/${instance}`,
      `/management${instances}/other`,
    ],
    ['verbs', rule({ verbs: ['get'] }), `/management${inDefault}/pods/a`, `/management${pods}`],
    [
      'resources by group',
      rule({ resources: [{ group: 'apps', resources: [] }] }),
      '/management/apis/apps/v1/deployments',
      `/management${pods}`,
    ],
    ['resources by name', onPods('pods'), `/management${pods}`, `/management${inDefault}/pods/a/log`],
    [
      'every resource',
      onPods('*'),
      `/management${inDefault}/pods/a/log`,
      '/management/apis/apps/v1/deployments',
    ],
    [
      'one subresource',
      onPods('pods/log'),
      `/management${inDefault}/pods/a/log`,
      `/management${inDefault}/pods/a`,
    ],
    [
      'all subresources',
      onPods('pods/*'),
      `/management${inDefault}/pods/a/log`,
      `/management${inDefault}/pods/a`,
    ],
    [
      'a subresource of any',
      onPods('*/log'),
      `/management${inDefault}/pods/a/log`,
      `/management${inDefault}/pods/a`,
    ],
    [
      'names of objects',
      rule({ resources: [{ group: '', resources: ['pods'] }], resourceNames: ['a'] }),
      `/management${inDefault}/pods/a`,
      `/management${inDefault}/pods/b`,
    ],
    [
      'namespaces',
      rule({ namespaces: ['default'] }),
      `/management${inDefault}/pods`,
      '/management/api/v1/nodes',
    ],
    ['no namespace', rule({ namespaces: [''] }), '/management/api/v1/nodes', `/management${inDefault}/pods`],
    ['other paths', rule({ nonResourceURLs: ['/logs/*'] }), '/management/logs/a', '/management/metrics'],
    ['kinds of targets', rule({ requestTargets: ['Management'] }), `/management${pods}`, `/cluster/a${pods}`],
    ['one cluster', rule({ cluster: 'a' }), `/cluster/a${pods}`, `/management${pods}`],
    [
      'virtual clusters of a rule',
      rule({ virtualClusters: [{ name: 'a', namespace: '' }] }),
      `/project/red/virtualcluster/a${pods}`,
      `/cluster/a${pods}`,
    ],
  ])('allows %s, and nothing beside it', async (_, given, inside, outside) => {
    const { holder: narrow } = await holder.make({ ttl: 600, scope: given });
    expect([await reaches(narrow, inside), await reaches(narrow, outside)]).toEqual([true, false]);
  });

  it('bounds what is below it as well', async () => {
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
