import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { configFolder } from '../../../lab/operator/kustomization.ts';
import { giveRight } from '../../../lab/operator/rights.ts';
import { accountKubeconfig } from '../../../lab/operator/running-operator.ts';
import { until } from '../../../lab/operator/until.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import {
  clusterRoleBindings,
  clusterRoles,
  roleBindings,
  serviceAccounts,
} from '../../../src/api/resources.ts';
import { type ApiClient, clientWith } from './api-client.ts';

interface Rule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
  readonly verbs: readonly string[];
}

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

/** The rules of one shipped role. */
async function shipped(kind: string): Promise<readonly Rule[]> {
  const text = await readFile(`${configFolder}/gateway/gateway-role.yaml`, 'utf8');
  const roles = parseAllDocuments(text).map((one) => one.toJS());
  return roles.find((role) => role.kind === kind).rules;
}

const ofCluster = await shipped('ClusterRole');
const ofNamespace = await shipped('Role');
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

/** A request that takes each right of the gateway. */
const uses: Readonly<Record<string, Request>> = {
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
  'ownedaccesskeys/status impersonate-on:serviceaccount:patch': {
    method: 'PATCH',
    path: `${credentials}/ownedaccesskeys/none/status`,
    headers: account('latchkey-activity'),
    body: '{}',
  },
  ...Object.fromEntries(
    [
      'ownedaccesskeys',
      'directclusterendpointtokens',
      'namespaces/default/virtualclusterinstancekubeconfigs',
    ].map((resource) => [
      `${resource.replace(/.*\//, '')} impersonate-on:serviceaccount:get`,
      { path: `${credentials}/${resource}/none`, headers: account('latchkey-reader') },
    ]),
  ),
  ...Object.fromEntries(
    ['get', 'head', 'options', 'post', 'put', 'patch', 'delete'].map((verb) => [
      `/* impersonate-on:user-info:${verb}`,
      { method: verb.toUpperCase(), path: '/healthz', headers: user },
    ]),
  ),
  ...Object.fromEntries(
    [
      'ownedaccesskeys',
      'directclusterendpointtokens',
      'virtualclusterinstancekubeconfigs',
      'virtualclusterinstances',
      'spaceinstances',
      'clusters',
      'namespaces',
    ].flatMap((plural) => {
      const path = `${plural === 'namespaces' ? '/api/v1' : credentials}/${plural}`;
      const headers = account('latchkey-reader');
      return [
        [`${plural} impersonate-on:serviceaccount:list`, { path: `${path}?limit=1`, headers }],
        [
          `${plural} impersonate-on:serviceaccount:watch`,
          { path: `${path}?watch=true&timeoutSeconds=1`, headers },
        ],
      ];
    }),
  ),
};

const rightsOf = ({ resources = [], nonResourceURLs = [], verbs }: Rule): string[] =>
  [...resources, ...nonResourceURLs.map(() => '/*')].flatMap((what) =>
    verbs.map((verb) => `${what} ${verb}`),
  );

/** The rules without one right. */
function without(right: string): readonly Rule[] {
  const [what = '', verb = ''] = right.split(' ');
  const strip = (name: string, rule: Rule): Rule =>
    name === what ? { ...rule, verbs: rule.verbs.filter((each) => each !== verb) } : rule;
  const stripped = ofCluster.flatMap((rule): readonly Rule[] =>
    rule.resources === undefined
      ? [strip('/*', rule)]
      : rule.resources.map((resource) => strip(resource, { ...rule, resources: [resource] })),
  );
  return stripped.filter(({ verbs }) => verbs.length > 0);
}

/** A client of another account, which has these rights in place of the gateway's. */
async function accountWith(rules: readonly Rule[]): Promise<ApiClient> {
  const name = world.name('stand-in');
  const namespace = 'latchkey-system';
  const api = 'rbac.authorization.k8s.io';
  const subjects = [{ kind: 'ServiceAccount', name, namespace }];
  await admin.createObject(serviceAccounts, {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name, namespace },
  });
  await admin.createObject(clusterRoles, {
    apiVersion: `${api}/v1`,
    kind: 'ClusterRole',
    metadata: { name },
    rules,
  });
  await admin.createObject(clusterRoleBindings, {
    apiVersion: `${api}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup: api, kind: 'ClusterRole', name },
    subjects,
  });
  await admin.createObject(roleBindings, {
    apiVersion: `${api}/v1`,
    kind: 'RoleBinding',
    metadata: { name, namespace },
    roleRef: { apiGroup: api, kind: 'Role', name: 'latchkey-gateway' },
    subjects,
  });
  return await clientWith(await accountKubeconfig(plane, name));
}

describe('the rights of the gateway', () => {
  it('are those that a request is shown for here', () => {
    expect(ofCluster.flatMap(rightsOf).toSorted()).toEqual(Object.keys(uses).toSorted());
    expect(ofNamespace.flatMap(rightsOf)).toEqual([
      'serviceaccounts impersonate:serviceaccount',
      'configmaps impersonate-on:serviceaccount:list',
      'configmaps impersonate-on:serviceaccount:watch',
    ]);
  });

  it.concurrent.each(Object.entries(uses))('%s is there and needed', async (right, request) => {
    // In this order: when the rights of the second count, those of the first do, too.
    const stripped = await accountWith(without(right));
    const whole = await accountWith(ofCluster);
    await until('the rights count', async () => (await whole.status(request)) !== 403);
    expect(await stripped.status(request)).toBe(403);
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
    const published = `${systemMaps}?fieldSelector=metadata.name%3Dlatchkey-oidc-discovery`;
    expect(await thief.status({ path: published, headers: account('latchkey-reader') })).toBe(200);
    expect(await thief.status({ path: published })).toBe(403);
    const access = '/api/v1/namespaces/latchkey-targets/secrets';
    expect(await thief.status({ path: access, headers: account('latchkey-reader') })).toBe(200);
    expect(await thief.status({ path: access })).toBe(403);
  });
});
