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

/** A field by its path, a value of it, and one of another type. */
type Line = readonly [field: string, value: unknown, wrong: unknown, beside?: object];

const texts = (...fields: string[]): readonly Line[] => fields.map((field) => [field, 'a text', 5]);
const lists = (...fields: string[]): readonly Line[] => fields.map((field) => [field, ['a'], 'a']);

const keyLines: readonly Line[] = [
  ...texts('displayName', 'description', 'parent'),
  ['user', 'bob', 5],
  ['team', 'red', 5, { scope: {} }],
  ['subject', 'metrics:writer', 5, { scope: {} }],
  ['groups', ['oncall'], 'oncall', { user: 'bob', scope: {} }],
  ['disabled', true, 'true'],
  ['ttl', 600, '600'],
  ['ttlAfterLastActivity', true, 'true', { ttl: 600 }],
  ['scope', { clusters: [{ cluster: 'a' }] }, 'a'],
  ['type', 'User', 5],
  ['identity', { userId: '1' }, 'bob'],
  ...texts('identity.userId', 'identity.username', 'identity.preferredUsername', 'identity.email'),
  ['identity.emailVerified', true, 'true'],
  ['identity.extraClaims', { plan: 'large' }, 'large'],
  ...lists('identity.groups'),
  ...texts('identity.connector'),
  ['identity.identityRefresh', time, 5],
  ['oidcProvider', { clientId: 'a' }, 'a'],
  ...texts('oidcProvider.clientId', 'oidcProvider.nonce', 'oidcProvider.redirectUri', 'oidcProvider.scopes'),
  ['oidcLogin', { lastRefresh: time }, 'a'],
  ['oidcLogin.lastRefresh', time, 5],
];

const scopeLines: readonly Line[] = [
  ['roles', [{ role: 'platform-cli' }], 'platform-cli'],
  ['roles.0.role', 'platform-cli', 5],
  ['roles.0.projects', ['red'], 'red', { role: 'platform-cli' }],
  ['roles.0.virtualClusters', ['shop'], 'shop', { role: 'platform-cli' }],
  ['projects', [{ project: 'red' }], 'red'],
  ['projects.0.project', '*', 5],
  ['spaces', [{ project: 'red', space: 'a' }], 'a'],
  ['spaces.0.project', 'red', 5, { space: 'a' }],
  ['spaces.0.space', '*', 5, { project: 'red' }],
  ['virtualClusters', [{ project: 'red', virtualCluster: 'shop' }], 'shop'],
  ['virtualClusters.0.project', 'red', 5, { virtualCluster: 'shop' }],
  ['virtualClusters.0.virtualCluster', '*', 5, { project: 'red' }],
  ['clusters', [{ cluster: 'a' }], 'a'],
  ['clusters.0.cluster', '*', 5],
  ['rules', [{ verbs: ['get'] }], 'get'],
  ['rules.0.verbs', ['get'], 'get'],
  ['rules.0.resources', [{ group: 'apps' }], 'apps'],
  ['rules.0.resources.0.group', 'apps', 5],
  ['rules.0.resources.0.resources', ['deployments', 'pods/*'], 'pods'],
  ['rules.0.resourceNames', ['shop'], 'shop', { resources: [{ group: 'apps', resources: ['deployments'] }] }],
  ['rules.0.namespaces', ['default', ''], 'default'],
  ['rules.0.nonResourceURLs', ['/healthz', '/logs/*'], '/healthz'],
  ['rules.0.requestTargets', ['Management'], 'Management'],
  ['rules.0.cluster', 'a', 5],
  ['rules.0.virtualClusters', [{ name: 'shop', namespace: 'p-red' }], 'shop'],
  ['rules.0.virtualClusters.0.name', 'shop', 5],
  ['rules.0.virtualClusters.0.namespace', 'p-red', 5],
];

const tokenLines: readonly Line[] = [
  ['ttl', 600, '600'],
  ['scope', { clusters: [{ cluster: 'a' }] }, 'a'],
  ['rules', [{ verbs: ['get'] }], 'get'],
  ['allowPlatformCli', true, 'true'],
];

const kubeConfigLines: readonly Line[] = [
  ['certificateTTL', 600, '600'],
  ['server', 'https://shop.example.com', 5],
  ['clientCert', true, 'true'],
];

const named = (lines: readonly Line[]) => lines.map((line) => ({ field: line[0], line }));

/** `a.0.b` and 5 become `{a: [{b: 5, …beside}]}`. */
function at(field: string, value: unknown, beside: object = {}): object {
  const [first = '', ...rest] = field.split('.');
  if (rest.length === 0) return { ...beside, [first]: value };
  if (rest[0] === '0') return { [first]: [at(rest.slice(1).join('.'), value, beside)] };
  return { [first]: at(rest.join('.'), value, beside) };
}

const post = async (place: string, spec: object) =>
  await holder.send('POST', `${place}?dryRun=All`, { body: { metadata: { name: name('any') }, spec } });

async function expectLine(place: string, [field, value, wrong, beside]: Line): Promise<void> {
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

describe('2.3 OwnedAccessKey: a field of spec is kept, and of its type only', () => {
  it.each(named(keyLines))('$field', async ({ line }) => await expectLine(ownKeys, line));

  it('key, which shows as its hash', async () => {
    const { status, body } = await post(ownKeys, { key: `chosen-by-${root}` });
    expect([status, body.spec.key]).toEqual([201, expect.stringMatching(/^sha256:[0-9a-f]{64}$/)]);
    expect((await post(ownKeys, { key: 'too-short' })).status).toBe(422);
  });

  it.each(['identity.connectorData', 'oidcLogin.idToken', 'oidcLogin.accessToken', 'oidcLogin.refreshToken'])(
    '%s, which is taken and never shown',
    async (field) => {
      const secret = `of-${root}-alone`;
      const { status, text } = await post(ownKeys, at(field, secret));
      expect([status, text.includes(secret)]).toEqual([201, false]);
      expect((await post(ownKeys, at(field, 5))).status).toBe(422);
    },
  );
});

describe('2.4 DirectClusterEndpointToken: a field of spec is kept, and of its type only', () => {
  it.each(named(tokenLines))('$field', async ({ line }) => await expectLine(ownTokens, line));
});

describe('2.5 VirtualClusterInstanceKubeConfig: a field of spec is kept, and of its type only', () => {
  it.each(named(kubeConfigLines))('$field', async ({ line }) => await expectLine(kubeConfigs, line));
});

describe.each([
  ['a key', ownKeys],
  ['a token', ownTokens],
])('2.6 scope of %s: a field is kept, and of its type only', (_, place) => {
  it.each(named(scopeLines))('$field', async ({ line: [field, value, wrong, beside] }) => {
    const withScope = (given: unknown) => ({ scope: at(field, given, beside) });
    const taken = await post(place, withScope(value));
    expect([taken.status, taken.body.spec]).toEqual([201, expect.objectContaining(withScope(value))]);
    const refused = await post(place, withScope(wrong));
    expect([refused.status, refused.body.kind]).toEqual([422, 'Status']);
  });

  it('resourceNames needs resources', async () => {
    const { status, body } = await post(place, { scope: { rules: [{ resourceNames: ['a'] }] } });
    expect([status, body.reason]).toEqual([422, 'Invalid']);
  });

  it.each([['/a*'], ['/a/*/b'], ['*/a']])(
    'nonResourceURLs has a wildcard only as the whole last step: not %s',
    async (url) => {
      const { status, body } = await post(place, { scope: { rules: [{ nonResourceURLs: [url] }] } });
      expect([status, body.reason]).toEqual([422, 'Invalid']);
    },
  );

  it.each([[['*', 'pods']], [['pods/*', 'pods/log']], [['*/log', 'pods/log']]])(
    'resources with wildcards do not overlap: not %j',
    async (resources) => {
      const { status, body } = await post(place, {
        scope: { rules: [{ resources: [{ group: '', resources }] }] },
      });
      expect([status, body.reason]).toEqual([422, 'Invalid']);
    },
  );
});
