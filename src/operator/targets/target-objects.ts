import { isDeepStrictEqual } from 'node:util';
import { asObject, asText, type JsonObject } from '../../api/json.ts';
import { groups, labels, targetObjects } from '../../api/names.ts';
import { clusterRoleBindings, clusterRoles, type Resource, serviceAccounts } from '../../api/resources.ts';
import type { ObjectKey } from '../../kube/object.ts';
import type { TargetOwner } from '../../platform/targets/target-access.ts';
import type { PolicyRules } from './impersonator-role.ts';

/** Something that has to be in a target, exactly so. */
export interface TargetObject {
  readonly resource: Resource;
  readonly key: ObjectKey;
  readonly manifest: JsonObject;
  /** Fields that an apply restores to the manifest; null where the field must be absent. */
  readonly exact: JsonObject;
  /** Fields that only another object can bring back. */
  readonly fixed: JsonObject;
}

/** Something that may have been made in a target. */
export interface RemovedObject extends Pick<TargetObject, 'resource' | 'key'> {
  /** Whether it gives users their role, which only virtual clusters do. */
  readonly isForUsers: boolean;
}

/** `unrepairable`: it has to be deleted before it can be as it should. */
export type ObjectState = 'intact' | 'altered' | 'unrepairable';

const { namespace, impersonator, usersBinding } = targetObjects;
const rbacGroup = 'rbac.authorization.k8s.io';

/** The objects that the operator makes in a target, in the order in which it is made; the users binding only with a role for them. */
export function wantedObjects(
  owner: TargetOwner,
  rules: PolicyRules,
  clusterRole?: string,
): readonly TargetObject[] {
  const account = { kind: 'ServiceAccount', name: impersonator, namespace };
  const users = { kind: 'Group', apiGroup: rbacGroup, name: groups.users };
  return [
    object(
      owner,
      serviceAccounts,
      { name: impersonator, namespace },
      { automountServiceAccountToken: false },
    ),
    object(owner, clusterRoles, { name: impersonator }, { rules }),
    binding(owner, { name: impersonator, clusterRole: impersonator, subject: account }),
    ...(clusterRole === undefined
      ? []
      : [binding(owner, { name: usersBinding, clusterRole, subject: users })]),
  ];
}

/** The objects that may have been made for an owner, in the order in which they are taken away: rights first. */
export const removalOrder: readonly RemovedObject[] = [
  { resource: clusterRoleBindings, key: { name: usersBinding }, isForUsers: true },
  { resource: clusterRoleBindings, key: { name: impersonator }, isForUsers: false },
  { resource: clusterRoles, key: { name: impersonator }, isForUsers: false },
  { resource: serviceAccounts, key: { name: impersonator, namespace }, isForUsers: false },
];

/** How the object that is there (as the target shows it, so of any shape) compares to the one that should be. */
export function compareToWanted(present: unknown, wanted: TargetObject): ObjectState {
  const fields = asObject(present);
  if (!hasAll(fields, wanted.fixed)) return 'unrepairable';
  return hasAll(fields, wanted.exact) ? 'intact' : 'altered';
}

/** Whether its labels name this owner. */
export function isOwnedBy(present: unknown, { kind, uid }: TargetOwner): boolean {
  const marks = labelsOf(present);
  return marks[labels.ownerUID] === uid && marks[labels.ownerKind] === kind;
}

/** The UID of the owner that the labels name. */
export const ownerUIDOf = (present: unknown): string | undefined =>
  asText(labelsOf(present)[labels.ownerUID]);

const labelsOf = (present: unknown): JsonObject =>
  asObject(asObject(asObject(present)['metadata'])['labels']);

/** The wanted side is shallow, so a document of a million brackets ends the comparison, not the process. */
const hasAll = (present: JsonObject, fields: JsonObject): boolean =>
  Object.entries(fields).every(([name, value]) => isDeepStrictEqual(present[name] ?? null, value));

interface Binding {
  readonly name: string;
  readonly clusterRole: string;
  readonly subject: JsonObject;
}

function binding(owner: TargetOwner, { name, clusterRole, subject }: Binding): TargetObject {
  const roleRef = { apiGroup: rbacGroup, kind: 'ClusterRole', name: clusterRole };
  const made = object(owner, clusterRoleBindings, { name }, { subjects: [subject] });
  return { ...made, manifest: { ...made.manifest, roleRef }, fixed: { roleRef } };
}

function object(owner: TargetOwner, resource: Resource, key: ObjectKey, exact: JsonObject): TargetObject {
  const { group, version, kind } = resource;
  const marks = { [labels.ownerKind]: owner.kind, [labels.ownerUID]: owner.uid };
  const apiVersion = group === '' ? version : `${group}/${version}`;
  const manifest = { apiVersion, kind, metadata: { ...key, labels: marks }, ...exact };
  // An aggregated role takes its rules from others, whatever was written into it.
  const fixed = resource === clusterRoles ? { aggregationRule: null } : {};
  return { resource, key, manifest, exact, fixed };
}
