import { describe, expect, it } from 'vitest';
import { fieldManager, systemNamespace, systemObjects } from '../../../src/api/names.ts';
import {
  configMaps,
  ownedAccessKeys as keys,
  type Resource,
  spaceInstances,
  directClusterEndpointTokens as tokens,
  virtualClusterInstances,
} from '../../../src/api/resources.ts';
import { collectionPath } from '../../../src/kube/resource-path.ts';
import type { PolicyErrorCode } from '../../../tools/policies/policy-errors.ts';
import { type ApiAnswer, type ApiClient, contentTypes } from '../admission/api-client.ts';
import { hashOfOwnKey, objectOf, pathOf, type TestObject, uniqueName } from '../admission/objects.ts';
import { admissionWorld, create } from '../admission/world.ts';
import { peopleOf } from './people.ts';

const world = await admissionWorld();
const { alice, deleter, mallory, master, quinn, root } = await peopleOf(world);
const key = hashOfOwnKey();
const secretRef = { namespace: 'payments', name: 'till' };
const own = { user: 'mallory', key };

type Spec = Record<string, unknown>;
const post = async (client: ApiClient, resource: Resource, spec: Spec, metadata: object = {}) =>
  await client.send('POST', pathOf(resource), { body: objectOf(resource, spec, metadata) });

describe('a refusal names who asked, what it is about, and its code', () => {
  it.each<[string, Resource, Spec, readonly [string, PolicyErrorCode]]>([
    ['a user', keys, { user: 'bob', key }, ['user "bob"', 'ERR_POLICY_IMPERSONATE']],
    ['a team', keys, { team: 'red', key, scope: {} }, ['team "red"', 'ERR_POLICY_IMPERSONATE']],
    ['a subject', keys, { subject: 'robot', key, scope: {} }, ['subject "robot"', 'ERR_POLICY_IMPERSONATE']],
    ['a group', keys, { ...own, groups: ['ops'], scope: {} }, ['group "ops"', 'ERR_POLICY_IMPERSONATE']],
    ['a name with a quote', keys, { user: 'o"bob', key }, ['user "o\\"bob"', 'ERR_POLICY_IMPERSONATE']],
    ['a Secret', keys, { user: own.user, secretRef }, ['Secret "payments/till"', 'ERR_POLICY_SECRET_RIGHTS']],
    [
      'the Secret of an instance',
      virtualClusterInstances,
      { kubeConfigSecretRef: { name: 'vc-shop' } },
      ['Secret "default/vc-shop"', 'ERR_POLICY_SECRET_RIGHTS'],
    ],
    [
      'a Cluster',
      spaceInstances,
      { clusterRef: { cluster: 'west', namespace: 'a' } },
      ['Cluster "west"', 'ERR_POLICY_BIND_NAMESPACE'],
    ],
  ])('%s', async (_, resource, spec, [named, code]) => {
    const { status, body } = await post(mallory, resource, spec);
    expect(status).toBe(403);
    expect(body.message).toContain(` (requester "mallory", ${named}, code ${code})`);
  });

  it('a Secret of Latchkey itself', async () => {
    const body = objectOf(
      virtualClusterInstances,
      { kubeConfigSecretRef: { name: 'a' } },
      { namespace: systemNamespace },
    );
    const path = collectionPath(virtualClusterInstances, systemNamespace);
    const answer = await master.send('POST', path, { body });
    expect(answer.status).toBe(403);
    expect(answer.body.message).toContain(`Secret "${systemNamespace}/a", code ERR_POLICY_SYSTEM_NAMESPACE)`);
  });

  it('the key itself', async () => {
    const name = uniqueName('unread');
    const { status, body } = await post(quinn, keys, { user: 'quinn' }, { name });
    expect(status).toBe(403);
    expect(body.message).toMatch(/ \(requester "quinn", code ERR_POLICY_KEY_DELIVERY\)$/);
    expect(body.message).toContain(`"${name}"`);
  });

  const blocking = (...owners: readonly string[]) => ({
    ownerReferences: owners.map((kind) => ({
      apiVersion: 'v1',
      kind,
      name: 'settings',
      uid: `of-${kind}`,
      blockOwnerDeletion: true,
    })),
  });

  it.each([
    ['the only owner', ['ConfigMap'], 'ConfigMap/settings'],
    ['the one of several that may not be deleted', ['ConfigMap', 'Secret', 'Pod'], 'Secret/settings'],
    ['one that cannot be read', ['ConfigMap', 'Not a kind'], 'Not a kind/settings'],
  ])('an owner: %s', async (_, owners, owner) => {
    const client = owners.length === 1 ? mallory : deleter;
    const { status, body } = await post(client, tokens, {}, blocking(...owners));
    expect(status).toBe(422);
    expect(body.message).toContain(`, owner "${owner}", code ERR_POLICY_OWNER_REFERENCE)`);
  });
});

const login = '{"spec":{"identity":{"connectorData":"c2VjcmV0LW9mLWFsaWNl"}}}';
const lastApplied = (value: string) => ({
  annotations: { 'kubectl.kubernetes.io/last-applied-configuration': value },
});
const configMap = async (client: ApiClient, name: string, data: Record<string, string>) =>
  await client.send('POST', `/api/v1/namespaces/${systemNamespace}/configmaps`, {
    body: { apiVersion: 'v1', kind: configMaps.kind, metadata: { name }, data },
  });
const extra = 'impersonate-extra-management.platform.sh%2Faccess-key';

it.each<[PolicyErrorCode, string, () => Promise<ApiAnswer>]>([
  ['ERR_POLICY_LOGIN_DATA', 'mallory', () => post(mallory, keys, own, lastApplied(login))],
  [
    'ERR_POLICY_SCOPE_NULL',
    'mallory',
    () => post(mallory, keys, own, lastApplied('{"spec":{"scope":null}}')),
  ],
  [
    'ERR_POLICY_TOO_LARGE',
    'mallory',
    () => post(mallory, keys, own, { annotations: { note: '<'.repeat(60_000) } }),
  ],
  [
    'ERR_POLICY_FIELD_MANAGER',
    'mallory',
    () =>
      mallory.send('POST', pathOf(keys), {
        body: objectOf(keys, { ...own, disabled: true }),
        query: { fieldManager },
      }),
  ],
  [
    'ERR_POLICY_CREDENTIAL_EXTRA',
    'mallory',
    () =>
      post(
        world.admin.withHeaders({
          'impersonate-user': 'mallory',
          'impersonate-group': 'ownership-tests-everyone',
          [extra]: 'not one credential',
        }),
        keys,
        own,
      ),
  ],
  ['ERR_POLICY_OPERATOR_ONLY', 'platform-admin', () => configMap(master, systemObjects.discovery, {})],
])('%s stands behind a refusal, with the name of %s', async (code, who, attempt) => {
  const { status, body } = await attempt();
  expect(status).toBe(403);
  expect(body.message).toContain(` (requester "${who}", code ${code})`);
  expect(body.message).not.toContain('c2VjcmV0LW9mLWFsaWNl');
});

describe('a refusal about a key of somebody else', async () => {
  const target = await create(alice, objectOf(keys, { user: 'alice', key }));
  const path = pathOf(keys, target.metadata.name);
  const change = async (who: ApiClient): Promise<ApiAnswer> => {
    const body: TestObject = { ...target, spec: { ...target.spec, description: 'changed' } };
    return await who.send('PUT', path, { body });
  };
  const limited = world.admin.withHeaders({
    'impersonate-user': 'alice',
    'impersonate-group': 'ownership-tests-root',
    [extra]: 'another/0b1c',
    [`${extra}-limited`]: 'true',
  });
  const status = async () =>
    await root.send('PATCH', `${path}/status`, {
      body: { status: { observedGeneration: 9 } },
      contentType: contentTypes.mergePatch,
    });

  it.each<[string, PolicyErrorCode, string, () => Promise<ApiAnswer>]>([
    ['may read and change it', 'ERR_POLICY_NOT_OWNER', 'root', () => change(root)],
    ['may change it', 'ERR_POLICY_NOT_OWNER', 'mallory', () => change(mallory)],
    ['may delete it', 'ERR_POLICY_NOT_OWNER', 'mallory', () => mallory.send('DELETE', path)],
    [
      'may not see it',
      'ERR_POLICY_DRY_RUN',
      'mallory',
      () => mallory.send('DELETE', path, { query: { dryRun: 'All' } }),
    ],
    ['changes it beyond a limit', 'ERR_POLICY_CREDENTIAL_LIMITS', 'alice', () => change(limited)],
    [
      'deletes it beyond a limit',
      'ERR_POLICY_CREDENTIAL_LIMITS',
      'alice',
      () => limited.send('DELETE', path),
    ],
    ['writes its status', 'ERR_POLICY_OPERATOR_ONLY', 'root', status],
  ])('names the key and who %s, with %s', async (_, code, who, attempt) => {
    const { status: answered, body } = await attempt();
    expect(answered).toBe(403);
    expect(body.message).toContain(`${target.metadata.name}"`);
    expect(body.message).toContain(` (requester "${who}", `);
    expect(body.message).toMatch(new RegExp(`, code ${code}\\)$`));
  });

  it('is in plain words for those who may get it', async () => {
    expect((await change(root)).body).toMatchObject({
      reason: 'Forbidden',
      message: expect.not.stringContaining('JSON Patch'),
    });
    expect((await change(mallory)).body).toMatchObject({
      reason: 'Invalid',
      message: expect.stringContaining('JSON Patch'),
    });
  });
});
