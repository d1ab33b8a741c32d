import type { World } from '../admission/world.ts';

const api = 'rbac.authorization.k8s.io';

export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

/** A cluster role of these rules, and its binding to the group of the same name. */
export const groupOf = (name: string, rules: readonly Rule[]): object[] => [
  { apiVersion: `${api}/v1`, kind: 'ClusterRole', metadata: { name }, rules },
  {
    apiVersion: `${api}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup: api, kind: 'ClusterRole', name },
    subjects: [{ apiGroup: api, kind: 'Group', name }],
  },
];

/** A role of these rules in the namespace `default`, bound to one user. */
export const inProject = (user: string, rules: readonly Rule[]): object[] => {
  const metadata = { name: `ownership-tests-${user}`, namespace: 'default' };
  return [
    { apiVersion: `${api}/v1`, kind: 'Role', metadata, rules },
    {
      apiVersion: `${api}/v1`,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: api, kind: 'Role', name: metadata.name },
      subjects: [{ apiGroup: api, kind: 'User', name: user }],
    },
  ];
};

/** Applies them. The API server acts on a role a moment later; tests must wait for what they need. */
export async function grant({ plane }: World, objects: readonly (readonly object[])[]): Promise<void> {
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects.flat() });
  const { exitCode, stderr } = await plane.kubectl(['apply', '-f', '-'], { input });
  if (exitCode !== 0) throw new Error(stderr);
}
