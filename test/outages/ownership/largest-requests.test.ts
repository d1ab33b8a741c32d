import { expect, it } from 'vitest';
import { until } from '../../../lab/operator/until.ts';
import { directClusterEndpointTokens, ownedAccessKeys } from '../../../src/api/resources.ts';
import type { ApiAnswer, ApiClient } from '../../integration/admission/api-client.ts';
import { pathOf, type TestObject, unreadObjectOf } from '../../integration/admission/objects.ts';
import { mergePatch, put } from '../../integration/admission/requests.ts';
import { admissionWorld, create, read } from '../../integration/admission/world.ts';
import { withoutNames } from '../../integration/ownership/answers.ts';
import { largestScope } from '../../integration/ownership/largest-scope.ts';
import { peopleOf } from '../../integration/ownership/people.ts';

const world = await admissionWorld();
await peopleOf(world);
const lastAppliedName = 'kubectl.kubernetes.io/last-applied-configuration';
const said = ({ body }: ApiAnswer): string => withoutNames(String(body.message));

const many = <Item>(count: number, make: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, index) => make(index));
const owners = (prefix: string): object[] =>
  many(8, (index) => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    name: `${prefix}${index}`,
    uid: `${prefix}${index}`,
    blockOwnerDeletion: true,
  }));
/** An owner that exists: without any the garbage collector deletes the object. */
const alive = async (): Promise<object> => {
  const { body } = await world.admin.send('GET', '/api/v1/namespaces/default');
  const { name, uid } = body.metadata;
  return { apiVersion: 'v1', kind: 'Namespace', name, uid };
};
const lastApplied = (end: string): string =>
  JSON.stringify({
    many: many(90, (index) => ({ key: `${'k'.repeat(700)}${index}`, note: 'n'.repeat(1_500), end })),
  });
const metadata = (end: string) => ({
  annotations: { [lastAppliedName]: lastApplied(end), long: 'x'.repeat(40_000) },
  labels: Object.fromEntries(many(1_000, (index) => [`l${index}`, end])),
});
const spec = (end: string) => ({
  displayName: 'd'.repeat(253),
  description: 'd'.repeat(4_096),
  user: 'platform-admin',
  groups: many(16, (index) => `${'g'.repeat(240)}${index}${end}`),
  scope: largestScope(end),
  type: 'Workspace',
  ttl: 3_153_600_000,
  identity: { userID: 'u'.repeat(200) },
  allowedNamespaces: many(32, (index) => `${'n'.repeat(55)}${index}`),
  secretRef: { namespace: 'default', name: `s${end}` },
});

/** The control plane is shared: an operator of another file may write to the object in between. */
const putPresent = async (client: ApiClient, object: TestObject, change: object): Promise<ApiAnswer> =>
  await until('there is no conflict', async () => {
    const answer = await put(client, await read(world, object), change);
    return answer.status !== 409 && answer;
  });

it('the largest request that is allowed is judged when it creates, changes, disables and deletes', async () => {
  const { admin } = world;
  const ownerReferences = [await alive(), ...owners('na')];
  const target = await create(
    admin,
    unreadObjectOf(ownedAccessKeys, spec('a'), { ...metadata('a'), ownerReferences }),
  );
  const changed = await mergePatch(admin, target, {
    spec: spec('b'),
    metadata: { ...metadata('b'), ownerReferences: [await alive(), ...owners('nb')] },
  });
  expect({ status: changed.status, said: said(changed) }).toEqual({ status: 200, said: 'undefined' });
  expect((await mergePatch(admin, target, { spec: { disabled: true } })).status).toBe(200);
  expect((await admin.send('DELETE', pathOf(ownedAccessKeys, target.metadata.name))).status).toBe(200);
});

it('the largest request that is allowed may come from somebody in hundreds of groups', async () => {
  const groups = many(500, (index) => `${'g'.repeat(60)}${index}`);
  const crowd = await world.user('crowd', ['ownership-tests-everyone', ...groups]);
  const body = { groups: groups.slice(-16), scope: largestScope('a') };
  const target = await create(crowd, unreadObjectOf(ownedAccessKeys, body));
  expect((await putPresent(crowd, target, { scope: largestScope('b') })).status).toBe(200);
  const token = await create(
    crowd,
    unreadObjectOf(directClusterEndpointTokens, { scope: largestScope('a') }),
  );
  expect((await putPresent(crowd, token, { ttl: 600 })).status).toBe(200);
});
