import { describe, expect, it } from 'vitest';
import { giveRight } from '../../../lab/operator/rights.ts';
import { group } from '../../../src/api/names.ts';
import { curlHolder, withReplica } from './curl-holder.ts';
import { gatewayWorld } from './gateway-world.ts';
import { ownAPI, ownKeys, ownTokens } from './own-client.ts';

const world = await withReplica(await gatewayWorld());
const { admin, name } = world;
const root = name('root');
const rights = [
  { apiGroups: [''], resources: ['users', 'groups'], verbs: ['impersonate'] },
  { apiGroups: [group], resources: ['ownedaccesskeys'], verbs: ['manage-platform-fields'] },
  { apiGroups: [group], resources: ['virtualclusterinstances'], verbs: ['use', 'use-as-admin'] },
];
for (const right of rights) await giveRight(admin, root, right);
const holder = await curlHolder(world, { user: root });

const time = '2026-11-21T10:00:00Z';
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
  ['2.3-9, 8-1', 'ttl', 600, '600'],
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
  ['2.4-1, 8-2', 'ttl', 600, '600'],
  ['2.4-2', 'scope', { clusters: [{ cluster: 'a' }] }, 'a'],
  ['2.4-3, 9-5', 'rules', [{ verbs: ['get'] }], 'get'],
  ['2.4-4, 9-5', 'allowPlatformCli', true, 'true'],
];

const kubeConfigLines: readonly Line[] = [
  ['2.5-2, 8-3', 'certificateTTL', 600, '600'],
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

const post = async (place: string, spec: object) =>
  await holder.send('POST', `${place}?dryRun=All`, { body: { metadata: { name: name('any') }, spec } });

async function expectField(place: string, { field, rest: [value, wrong, beside] }: Named): Promise<void> {
  const spec = at(field, value, beside);
  const taken = await post(place, spec);
  expect([taken.status, taken.body.spec]).toEqual([201, expect.objectContaining(spec)]);
  const refused = await post(place, at(field, wrong, beside));
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
    const { status, body } = await post(ownKeys, { key: `chosen-by-${root}` });
    expect([status, body.spec.key]).toEqual([201, expect.stringMatching(/^sha256:[0-9a-f]{64}$/)]);
    for (const wrong of ['too-short', 5]) expect((await post(ownKeys, { key: wrong })).status).toBe(422);
  });

  it.each([
    ['2.3-25', 'identity.connectorData'],
    ['2.3-31', 'oidcLogin.idToken'],
    ['2.3-32', 'oidcLogin.accessToken'],
    ['2.3-33', 'oidcLogin.refreshToken'],
  ])('%s %s, which is taken and never shown', async (_, field) => {
    const secret = `of-${root}-alone`;
    const { status, text: shown } = await post(ownKeys, at(field, secret));
    expect([status, shown.includes(secret)]).toEqual([201, false]);
    expect((await post(ownKeys, at(field, 5))).status).toBe(422);
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
    const taken = await post(place, withScope(value));
    expect([taken.status, taken.body.spec]).toEqual([201, expect.objectContaining(withScope(value))]);
    const refused = await post(place, withScope(wrong));
    expect([refused.status, refused.body.kind]).toEqual([422, 'Status']);
  });

  it('2.6-18 resourceNames needs resources', async () => {
    const { status, body } = await post(place, { scope: { rules: [{ resourceNames: ['a'] }] } });
    expect([status, body.reason]).toEqual([422, 'Invalid']);
  });

  it.each([['/a*'], ['/a/*/b'], ['*/a']])(
    '2.6-20 nonResourceURLs has a wildcard only as the whole last step: not %s',
    async (url) => {
      const { status, body } = await post(place, { scope: { rules: [{ nonResourceURLs: [url] }] } });
      expect([status, body.reason]).toEqual([422, 'Invalid']);
    },
  );

  it.each([[['*', 'pods']], [['pods/*', 'pods/log']], [['*/log', 'pods/log']]])(
    '2.6-26 resources with wildcards do not overlap: not %j',
    async (resources) => {
      const { status, body } = await post(place, {
        scope: { rules: [{ resources: [{ group: '', resources }] }] },
      });
      expect([status, body.reason]).toEqual([422, 'Invalid']);
    },
  );
});
