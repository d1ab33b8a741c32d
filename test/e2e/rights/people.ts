import type { Stored } from '../../../lab/operator/api.ts';
import { manifestOf } from '../../../lab/operator/manifest.ts';
import { bindRole } from '../../../lab/operator/rights.ts';
import { until } from '../../../lab/operator/until.ts';
import type { World } from '../../../lab/operator/world.ts';
import { clusterRoleBindings, clusterRoles, type Resource } from '../../../src/api/resources.ts';
import { collectionPath, objectPath } from '../../../src/kube/resource-path.ts';
import { isAllowed } from '../../../src/platform/access-review.ts';
import {
  type ApiAnswer,
  type ApiClient,
  clientFor,
  contentTypes,
} from '../../integration/admission/api-client.ts';

const api = 'rbac.authorization.k8s.io';

export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

/** A person with the groups and the rights that are given, and no others than those on our kinds. */
export interface Person {
  readonly client: ApiClient;
  create(resource: Resource, spec: object, metadata?: object): Promise<Stored>;
  /** Any answer, refusals too. */
  tryCreate(resource: Resource, spec: object, metadata?: object): Promise<ApiAnswer>;
  patch(object: Stored, resource: Resource, patch: object): Promise<ApiAnswer>;
}

/** People who are introduced hold `latchkey-admin` by name. */
export async function introduce(world: World, name: string, groups: readonly string[] = []): Promise<Person> {
  await bindRole(world.admin, name, 'latchkey-admin');
  const client = await clientFor(world.plane, name, groups);
  const tryCreate = async (resource: Resource, spec: object, metadata: object = {}): Promise<ApiAnswer> => {
    const body = manifestOf(resource, spec, metadata);
    const answer = await client.send('POST', collectionPath(resource, body.metadata.namespace), { body });
    if (answer.status === 201) world.admin.track(answer.body);
    return answer;
  };
  return {
    client,
    tryCreate,
    // The API server acts on a new role a moment later.
    create: async (resource, spec, metadata) => {
      let answer: ApiAnswer | undefined;
      const attempt = async () => {
        answer = await tryCreate(resource, spec, metadata);
        return answer.status === 201 && (answer.body as Stored);
      };
      return await until(`${name} creates`, attempt, { seen: () => answer?.body.message });
    },
    patch: async ({ metadata }, resource, patch) =>
      await client.send('PATCH', objectPath(resource, metadata), {
        body: patch,
        contentType: contentTypes.mergePatch,
      }),
  };
}

/** A cluster role of one rule and its binding to the user; `take` deletes the binding, and waits until that acts. */
export async function give(world: World, user: string, rule: Rule): Promise<{ take(): Promise<void> }> {
  const name = world.name('right');
  const metadata = { name };
  await world.admin.createObject(clusterRoles, {
    apiVersion: `${api}/v1`,
    kind: 'ClusterRole',
    metadata,
    rules: [rule],
  });
  const binding = await world.admin.createObject(clusterRoleBindings, {
    apiVersion: `${api}/v1`,
    kind: 'ClusterRoleBinding',
    metadata,
    roleRef: { apiGroup: api, kind: 'ClusterRole', name },
    subjects: [{ apiGroup: api, kind: 'User', name: user }],
  });
  const [resource = '', resourceName = '', verb = '', apiGroup = ''] = [
    rule.resources[0],
    rule.resourceNames?.[0],
    rule.verbs[0],
    rule.apiGroups[0],
  ];
  const question = { group: apiGroup, verb, resource, name: resourceName };
  const isHeld = async () => await isAllowed(world.admin.client, { user, groups: [] }, question);
  return {
    take: async () => {
      await world.admin.delete(binding);
      await until(`${user} has lost the right`, async () => !(await isHeld()));
    },
  };
}

export const impersonate = (resource: 'users' | 'groups', ...names: readonly string[]): Rule => ({
  apiGroups: [''],
  resources: [resource],
  resourceNames: names,
  verbs: ['impersonate'],
});
