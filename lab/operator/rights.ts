import { clusterRoleBindings, clusterRoles } from '../../src/api/resources.ts';
import { isAllowed } from '../../src/platform/access-review.ts';
import type { Api, Stored } from './api.ts';
import { uniqueName } from './manifest.ts';
import { until } from './until.ts';

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  /** Absent: all. */
  readonly resourceNames?: readonly string[];
}

const api = 'rbac.authorization.k8s.io';

/**
 * Gives one user, by name, a right everywhere until the tests of the file are over; later files use the same names. Resolves when the
 * API server acts on it.
 */
export async function giveRight(admin: Api, user: string, rule: Rule): Promise<void> {
  const name = uniqueName('right');
  const role = { apiVersion: `${api}/v1`, kind: 'ClusterRole', metadata: { name }, rules: [rule] };
  await admin.createObject(clusterRoles, role);
  await bindRole(admin, user, name);
  const { apiGroups, resources, verbs, resourceNames = [] } = rule;
  const [apiGroup = '', resource = '', verb = '', object = ''] = [
    apiGroups,
    resources,
    verbs,
    resourceNames,
  ].map(([first]) => first);
  const question = { group: apiGroup, resource, verb, name: object };
  const counts = async () => await isAllowed(admin.client, { user, groups: [] }, question);
  await until('the right counts', counts);
}

/** The same with the rights of a role that exists. Resolves with the binding. */
export async function bindRole(admin: Api, user: string, role: string): Promise<Stored> {
  return await admin.createObject(clusterRoleBindings, {
    apiVersion: `${api}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: uniqueName('right') },
    roleRef: { apiGroup: api, kind: 'ClusterRole', name: role },
    subjects: [{ apiGroup: api, kind: 'User', name: user }],
  });
}
