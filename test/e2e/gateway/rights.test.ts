import { beforeAll, describe, expect, it } from 'vitest';
import { concurrently } from '../../../lab/operator/concurrently.ts';
import { giveRight } from '../../../lab/operator/rights.ts';
import { accountKubeconfig } from '../../../lab/operator/running-operator.ts';
import { until } from '../../../lab/operator/until.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { clusterRoleBindings, clusterRoles } from '../../../src/api/resources.ts';
import { type ApiClient, clientWith } from './api-client.ts';
import { accountWith, shippedRights } from './stand-in.ts';

const world = await operatorWorld({ operator: false });
const { admin, plane } = world;
const alice = world.name('alice');
const everything = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'];
await giveRight(admin, alice, { apiGroups: [''], resources: ['configmaps'], verbs: everything });
await admin.createObject(clusterRoles, {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: `${alice}-urls` },
  rules: [{ nonResourceURLs: ['/healthz'], verbs: ['*'] }],
});
await admin.createObject(clusterRoleBindings, {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name: `${alice}-urls` },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: `${alice}-urls` },
  subjects: [{ kind: 'User', name: alice }],
});

const ofGateway = await shippedRights('gateway-role.yaml');
const ofReader = await shippedRights('reader-role.yaml');
const ofActivity = await shippedRights('activity-role.yaml');
const account = (name: string) => ({ 'impersonate-user': `system:serviceaccount:latchkey-system:${name}` });
const user = { 'impersonate-user': alice };
const maps = '/api/v1/namespaces/default/configmaps';
const credentials = '/apis/management.platform.sh/v1';
const one = `${maps}/a`;
const json = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } });

interface Request {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

type Uses = Readonly<Record<string, Request>>;

const lastUse = { method: 'PATCH', path: `${credentials}/ownedaccesskeys/none/status`, body: '{}' };
const usesOfActivity: Uses = { 'ownedaccesskeys/status patch': lastUse };

const reads = (path: string, label: (verb: string) => string, query = 'limit=1'): Uses => ({
  [label('list')]: { path: `${path}?${query}` },
  [label('watch')]: { path: `${path}?${query}&watch=true&timeoutSeconds=1` },
});
const readInSystem = ['latchkey-oidc-discovery', 'latchkey-site-policy'];
const credentialKinds = [
  'ownedaccesskeys',
  'directclusterendpointtokens',
  'virtualclusterinstancekubeconfigs',
];
const usesOfReader: Uses = {
  ...Object.assign(
    {},
    ...[...credentialKinds, 'virtualclusterinstances', 'spaceinstances', 'clusters', 'credentiallocks'].map(
      (plural) => reads(`${credentials}/${plural}`, (verb) => `${plural} ${verb}`),
    ),
  ),
  ...Object.fromEntries(
    credentialKinds.map((plural) => [
      `${plural} get`,
      { path: `${credentials}/${plural.startsWith('virtual') ? 'namespaces/default/' : ''}${plural}/none` },
    ]),
  ),
  ...reads('/api/v1/namespaces', (verb) => `namespaces ${verb}`),
  'tokenreviews create': {
    method: 'POST',
    path: '/apis/authentication.k8s.io/v1/tokenreviews',
    body: JSON.stringify({ kind: 'TokenReview', spec: { token: 'none' } }),
  },
  'apiservices get': { path: '/apis/apiregistration.k8s.io/v1/apiservices/v1.apps' },
  ...reads('/api/v1/namespaces/latchkey-targets/secrets', (verb) => `secrets ${verb} in latchkey-targets`),
  ...Object.assign(
    {},
    ...readInSystem.map((name) =>
      reads(
        '/api/v1/namespaces/latchkey-system/configmaps',
        (verb) => `configmaps ${name} ${verb} in latchkey-system`,
        `fieldSelector=metadata.name%3D${name}`,
      ),
    ),
  ),
};

/** Repeats uses as an account: each takes the same right once more, under another verb, from itself. */
const asAccount = (name: string, itsUses: Uses): Uses =>
  Object.fromEntries(
    Object.entries(itsUses).map(([label, request]) => [
      label.replace(/ (get|list|watch|create|patch)(?= in |$)/, ' impersonate-on:serviceaccount:$1'),
      { ...request, headers: account(name) },
    ]),
  );

/** A request that takes each right of the gateway. */
const uses: Uses = {
  'users impersonate:user-info': { path: maps, headers: user },
  'groups impersonate:user-info': { path: maps, headers: { ...user, 'impersonate-group': 'dev' } },
  'userextras/management.platform.sh/access-key impersonate:user-info': {
    path: maps,
    headers: { ...user, 'impersonate-extra-management.platform.sh%2Faccess-key': 'a/1' },
  },
  'userextras/management.platform.sh/access-key-limited impersonate:user-info': {
    path: maps,
    headers: { ...user, 'impersonate-extra-management.platform.sh%2Faccess-key-limited': 'true' },
  },
  '* impersonate-on:user-info:get': { path: one, headers: user },
  '* impersonate-on:user-info:list': { path: maps, headers: user },
  '* impersonate-on:user-info:watch': { path: `${maps}?watch=true&timeoutSeconds=1`, headers: user },
  '* impersonate-on:user-info:create': {
    method: 'POST',
    path: `${maps}?dryRun=All`,
    headers: user,
    body: json,
  },
  '* impersonate-on:user-info:update': {
    method: 'PUT',
    path: `${one}?dryRun=All`,
    headers: user,
    body: json,
  },
  '* impersonate-on:user-info:patch': {
    method: 'PATCH',
    path: `${one}?dryRun=All`,
    headers: user,
    body: '{}',
  },
  '* impersonate-on:user-info:delete': { method: 'DELETE', path: `${one}?dryRun=All`, headers: user },
  '* impersonate-on:user-info:deletecollection': {
    method: 'DELETE',
    path: `${maps}?dryRun=All&labelSelector=none%3Dnone`,
    headers: user,
  },
  ...Object.fromEntries(
    ['get', 'head', 'options', 'post', 'put', 'patch', 'delete'].map((verb) => [
      `/* impersonate-on:user-info:${verb}`,
      { method: verb.toUpperCase(), path: '/healthz', headers: user },
    ]),
  ),
  'serviceaccounts latchkey-reader impersonate:serviceaccount in latchkey-system': {
    path: `${credentials}/ownedaccesskeys?limit=1`,
    headers: account('latchkey-reader'),
  },
  'serviceaccounts latchkey-activity impersonate:serviceaccount in latchkey-system': {
    ...lastUse,
    headers: account('latchkey-activity'),
  },
  ...asAccount('latchkey-activity', usesOfActivity),
  ...asAccount('latchkey-reader', usesOfReader),
};

describe.each([
  ['the gateway', ofGateway, uses],
  ['the account that it reads as', ofReader, usesOfReader],
  ['the account that it records activity as', ofActivity, usesOfActivity],
])('the rights of %s', (_, rights, shown) => {
  it('are those that a request is shown for here', () => {
    expect(rights.map(({ label }) => label).toSorted()).toEqual(Object.keys(shown).toSorted());
  });

  let stripped: ReadonlyMap<string, ApiClient>;
  let whole: ApiClient;
  beforeAll(async () => {
    const accounts = await concurrently(Object.keys(shown), async (right) => {
      const rest = rights.filter(({ label }) => label !== right);
      return [right, await accountWith(world, rest)] as const;
    });
    stripped = new Map(accounts);
    // In this order: when the rights of this one count, those of the others do, too.
    whole = await accountWith(world, rights);
  });

  it.concurrent.each(Object.entries(shown))('%s is there and needed', async (right, request) => {
    await until('the rights count', async () => (await whole.status(request)) !== 403);
    expect(await stripped.get(right)?.status(request)).toBe(403);
  });
});

describe('a stolen token of the gateway', async () => {
  const thief = await clientWith(await accountKubeconfig(plane, 'latchkey-gateway'));
  const secrets = '/api/v1/namespaces/latchkey-system/secrets';
  const systemMaps = '/api/v1/namespaces/latchkey-system/configmaps';

  it.each<[string, Request]>([
    ['by itself', { path: secrets }],
    ['by itself, not even a ConfigMap', { path: maps }],
    ['of the authority that signs its certificate', { path: `${secrets}/latchkey-gateway-ca` }],
    ['with an empty user', { path: maps, headers: { 'impersonate-user': '' } }],
    ['as system:masters', { path: secrets, headers: { ...user, 'impersonate-group': 'system:masters' } }],
    ['as the administrator of a node', { path: secrets, headers: { 'impersonate-user': 'system:node:a' } }],
    ['as the operator', { path: secrets, headers: account('latchkey-operator') }],
    [
      'as another ServiceAccount',
      { path: maps, headers: { 'impersonate-user': 'system:serviceaccount:default:default' } },
    ],
    [
      'as the reader, which reads no other ConfigMap',
      { path: systemMaps, headers: account('latchkey-reader') },
    ],
    ['as the reader, which reads no Secret', { path: secrets, headers: account('latchkey-reader') }],
    ['as somebody with a UID', { path: maps, headers: { ...user, 'impersonate-uid': '1' } }],
    ['as somebody with another extra', { path: maps, headers: { ...user, 'impersonate-extra-scopes': 'x' } }],
    [
      'as the one that records activity, to read a key',
      { path: `${credentials}/ownedaccesskeys`, headers: account('latchkey-activity') },
    ],
    [
      'as the reader, to change a credential',
      { method: 'DELETE', path: `${credentials}/ownedaccesskeys/a`, headers: account('latchkey-reader') },
    ],
  ])('opens nothing %s', async (_, request) => {
    expect(await thief.status(request)).toBe(403);
  });

  it('reads credentials and the access to targets as the reader, and does what ordinary users may do', async () => {
    const keys = { path: `${credentials}/ownedaccesskeys?limit=1`, headers: account('latchkey-reader') };
    expect(await thief.status(keys)).toBe(200);
    expect(await thief.status({ path: maps, headers: user })).toBe(200);
    const ofIssuer = `${systemMaps}?fieldSelector=metadata.name%3D${readInSystem[0]}`;
    expect(await thief.status({ path: ofIssuer, headers: account('latchkey-reader') })).toBe(200);
    expect(await thief.status({ path: ofIssuer })).toBe(403);
    const access = '/api/v1/namespaces/latchkey-targets/secrets';
    expect(await thief.status({ path: access, headers: account('latchkey-reader') })).toBe(200);
    expect(await thief.status({ path: access })).toBe(403);
  });
});
