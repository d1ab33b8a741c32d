import { afterAll } from 'vitest';
import type { ControlPlaneAccess } from '../../../lab/controlplane/access.ts';
import { sharedControlPlane } from '../../../lab/controlplane/shared.ts';
import { concurrently } from '../../../lab/operator/concurrently.ts';
import { until } from '../../../lab/operator/until.ts';
import { group, serviceAccounts, systemNamespace } from '../../../src/api/names.ts';
import {
  clusters,
  type Resource,
  spaceInstances,
  virtualClusterInstances,
} from '../../../src/api/resources.ts';
import { type ApiAnswer, type ApiClient, adminClient, clientFor, contentTypes } from './api-client.ts';
import { credentialKinds, objectOf, pathOf, type TestObject, testLabel } from './objects.ts';
import { installPolicies } from './policies-act.ts';

/** Members may do everything to our kinds and give every credential to everybody, as an administrator of the cluster may. */
export const testers = 'latchkey-testers';
/** Members may do everything but read: no get, list, watch and patch. */
export const writers = 'latchkey-writers';

/** The kinds that credentials point at. */
const targetKinds = [virtualClusterInstances, spaceInstances, clusters];

export interface World {
  readonly plane: ControlPlaneAccess;
  readonly admin: ApiClient;
  readonly alice: ApiClient;
  readonly bob: ApiClient;
  readonly operator: ApiClient;
  readonly activity: ApiClient;
  /** A client for any other user; with `testers` in its groups it may do everything to our kinds. */
  user(name: string, groups?: readonly string[]): Promise<ApiClient>;
}

/** Makes the world of a file: its objects are cleared away, and the clients that it opened closed, when its tests are over. */
export async function admissionWorld(given?: ControlPlaneAccess): Promise<World> {
  const opened: ApiClient[] = [];
  const keep = async (client: Promise<ApiClient>): Promise<ApiClient> => {
    opened.push(await client);
    return await client;
  };
  const found = given === undefined ? await sharedFoundation() : await foundationOn(given, keep);
  const { plane, admin, probe } = found;
  afterAll(async () => {
    await clearAway(admin);
    await Promise.all(opened.map(async (client) => await client.close()));
  });
  await installPolicies(plane, admin, probe);
  return { ...found, user: async (name, groups = [testers]) => await keep(clientFor(plane, name, groups)) };
}

/** The parts that take long and stay the same from file to file: rights, and clients of those who have them. */
interface Foundation extends Omit<World, 'user'> {
  readonly probe: ApiClient;
}

let shared: Promise<Foundation> | undefined;

/** Ends with the worker. */
async function sharedFoundation(): Promise<Foundation> {
  shared ??= sharedControlPlane().then((plane) => foundationOn(plane, (client) => client));
  return await shared;
}

async function foundationOn(
  plane: ControlPlaneAccess,
  keep: (client: Promise<ApiClient>) => Promise<ApiClient>,
): Promise<Foundation> {
  const user = async (name: string, groups: readonly string[] = [testers]): Promise<ApiClient> =>
    await keep(clientFor(plane, name, groups));
  await bindTestRoles(plane);
  return {
    plane,
    admin: await keep(adminClient(plane)),
    alice: await user('alice'),
    bob: await user('bob'),
    operator: await user(serviceAccountUser(serviceAccounts.operator), []),
    activity: await user(serviceAccountUser(serviceAccounts.activity)),
    probe: await user('latchkey-probe', [writers]),
  };
}

export const serviceAccountUser = (name: string): string =>
  `system:serviceaccount:${systemNamespace}:${name}`;

/** Creates the object. @throws Error when the API server refuses it. */
export async function create(client: ApiClient, object: TestObject): Promise<TestObject> {
  const resource = resourceOf(object.kind);
  return expectOk(await client.send('POST', pathOf(resource), { body: object }));
}

/** Reads the object as it is stored. */
export async function read(world: World, object: TestObject): Promise<TestObject> {
  return expectOk(await world.admin.send('GET', pathOf(resourceOf(object.kind), object.metadata.name)));
}

/** Writes status as the operator does. */
export async function writeStatus(world: World, object: TestObject, status: object): Promise<TestObject> {
  const path = pathOf(resourceOf(object.kind), object.metadata.name, 'status');
  return expectOk(
    await world.operator.send('PATCH', path, { body: { status }, contentType: contentTypes.mergePatch }),
  );
}

export function resourceOf(kind: string): Resource {
  const resource = [...credentialKinds, ...targetKinds].find((candidate) => candidate.kind === kind);
  if (resource === undefined) throw new Error(`no kind of these tests: ${kind}`);
  return resource;
}

export function expectOk(answer: ApiAnswer): TestObject {
  if (answer.status >= 300) throw new Error(`${answer.status} ${answer.body.message}`);
  return answer.body;
}

async function bindTestRoles(plane: ControlPlaneAccess): Promise<void> {
  const everything = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'];
  const ours = ['use', 'use-as-admin', 'manage-platform-fields', 'bind-namespace'];
  const impersonation = { apiGroups: [''], resources: ['users', 'groups'], verbs: ['impersonate'] };
  const objects = [
    ...boundRole(testers, [...everything, ...ours], [impersonation, secretRights]),
    ...boundRole(writers, ['create', 'update', 'delete', 'deletecollection', 'use']),
  ];
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects });
  const { exitCode, stderr } = await plane.kubectl(['apply', '-f', '-'], { input });
  if (exitCode !== 0) throw new Error(stderr);
}

/** The rights that references to Secrets take. */
const secretRights = { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'create', 'update'] };

function boundRole(name: string, verbs: readonly string[], more: readonly object[] = []): object[] {
  const rbac = 'rbac.authorization.k8s.io';
  const meta = { apiVersion: `${rbac}/v1`, metadata: { name } };
  return [
    { ...meta, kind: 'ClusterRole', rules: [{ apiGroups: [group], resources: ['*'], verbs }, ...more] },
    {
      ...meta,
      kind: 'ClusterRoleBinding',
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name },
      subjects: [{ apiGroup: rbac, kind: 'Group', name }],
    },
  ];
}

/** Deletes what carries the label of these tests, and strips the finalizers that no operator takes off. */
async function clearAway(admin: ApiClient): Promise<void> {
  for (const resource of [...credentialKinds, ...targetKinds]) {
    const query = { labelSelector: testLabel };
    await answered(async () => await admin.send('DELETE', pathOf(resource), { query }));
    const { body } = await answered(async () => await admin.send('GET', pathOf(resource), { query }));
    const left = (body.items as TestObject[]).map((item) => ({ ...item, kind: resource.kind }));
    await concurrently(left, async (object) => await strip(admin, object));
  }
}

/** For a moment after a definition was changed the API server lists nothing of its kind (429: storage is initializing). */
async function answered(send: () => Promise<ApiAnswer>): Promise<ApiAnswer> {
  let answer: ApiAnswer | undefined;
  const look = async () => {
    answer = await send();
    return answer.status === 200 && answer;
  };
  return await until('the API server lists the objects', look, { seen: () => answer });
}

/** Takes all finalizers off an object that is being deleted. */
export async function strip(client: ApiClient, object: TestObject): Promise<ApiAnswer> {
  return await client.send('PATCH', pathOf(resourceOf(object.kind), object.metadata.name), {
    body: { metadata: { finalizers: null } },
    contentType: contentTypes.mergePatch,
  });
}

/** A new object of the kind, made by this client. */
export async function made(
  client: ApiClient,
  kind: string,
  spec?: Record<string, unknown>,
): Promise<TestObject> {
  return await create(client, objectOf(resourceOf(kind), spec));
}
