/** One thing that a role allows, or that somebody did. `*` in `namespace` and `name`: any. */
export interface Permission {
  readonly verb: string;
  /** Empty: the core group. */
  readonly group: string;
  /** With its subresource: `ownedaccesskeys/status`. */
  readonly resource: string;
  /** Empty: cluster-scoped, or all namespaces at once. */
  readonly namespace: string;
  /** Empty: a collection, or an object whose name the server picks. */
  readonly name: string;
}

export interface Rule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
  readonly verbs: readonly string[];
}

interface RoleRef {
  readonly kind: string;
  readonly name: string;
}

export interface Subject {
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
}

/** A role or a binding, as `config/rbac` has them; other objects are passed over. */
export interface RBACObject {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly rules?: readonly Rule[] | null;
  readonly roleRef?: RoleRef;
  readonly subjects?: readonly Subject[];
  readonly aggregationRule?: object;
}

/**
 * Everything that the roles bound to the subject allow, one permission each.
 * @throws Error for a wildcard, or for a binding of a role that is not there: neither can be compared with what was used.
 */
export function permissionsOf(objects: readonly RBACObject[], subject: Subject): Permission[] {
  return objects
    .filter(({ subjects = [] }) => subjects.some((candidate) => isSame(candidate, subject)))
    .flatMap((binding) => {
      const namespace = binding.kind === 'RoleBinding' ? (binding.metadata.namespace ?? '') : '*';
      return (roleOf(objects, binding).rules ?? []).flatMap((rule) => flatten(rule, namespace));
    });
}

const isSame = (one: Subject, other: Subject): boolean =>
  one.kind === other.kind && one.name === other.name && (one.namespace ?? '') === (other.namespace ?? '');

function roleOf(objects: readonly RBACObject[], { metadata, roleRef }: RBACObject): RBACObject {
  const role = objects.find(
    (candidate) =>
      candidate.kind === roleRef?.kind &&
      candidate.metadata.name === roleRef.name &&
      (candidate.kind === 'ClusterRole' || candidate.metadata.namespace === metadata.namespace),
  );
  if (role === undefined) throw new Error(`${metadata.name} binds ${roleRef?.name}, which is not there`);
  return role;
}

function flatten(rule: Rule, namespace: string): Permission[] {
  const { apiGroups = [], resources = [], resourceNames = [], verbs } = rule;
  if ([...apiGroups, ...resources, ...verbs].some((part) => part.includes('*'))) {
    throw new Error(`a rule about ${resources.join(', ')} has a wildcard`);
  }
  const names = resourceNames.length === 0 ? ['*'] : resourceNames;
  return apiGroups.flatMap((group) =>
    resources.flatMap((resource) =>
      verbs.flatMap((verb) => names.map((name) => ({ verb, group, resource, namespace, name }))),
    ),
  );
}

/** For messages: `patch ownedaccesskeys/status.management.platform.sh`. */
export function describePermission({ verb, group, resource, namespace, name }: Permission): string {
  const what = group === '' ? resource : `${resource}.${group}`;
  const which = name === '*' || name === '' ? '' : ` named ${name}`;
  const where = namespace === '*' || namespace === '' ? '' : ` in ${namespace}`;
  return `${verb} ${what}${which}${where}`;
}
