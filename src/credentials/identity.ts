import { isSet } from '../api/json.ts';
import { type Problem, reasons } from '../api/reasons.ts';

export type IdentityKind = 'user' | 'team' | 'subject' | 'requester';

/** Who a credential speaks for, in Kubernetes' words. `system:authenticated` is added at use and never stands here. */
export interface Identity {
  readonly kind: IdentityKind;
  /** The Kubernetes user name: `team:t` for the team `t`. */
  readonly user: string;
  readonly groups: readonly string[];
}

export type IdentityResult = { readonly identity: Identity } | { readonly refusal: Problem };

export const reservedPrefixes = ['system:', 'kubeadm:', 'management.platform.sh:', 'team:'] as const;
export const maxGroups = 16;

/** True for names that belong to Kubernetes, kubeadm or Latchkey itself. */
export function isReserved(name: string): boolean {
  return reservedPrefixes.some((prefix) => name.startsWith(prefix));
}

/** Printable ASCII without a space at either end: HTTP headers carry an impersonated name, and would change any other bytes. */
export function isCleanName(name: string): boolean {
  return /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(name);
}

/**
 * The identity that a spec names by `user`, `team` or `subject`, with its `groups`. `undefined` when it names none.
 * Never throws; whatever is not a clean name is refused with the field and the fix.
 */
export function identityOfSpec(spec: Readonly<Record<string, unknown>>): IdentityResult | undefined {
  const named = namingFields.filter((field) => isSet(spec[field]));
  if (named.length > 1) return refuse('set exactly one of spec.user, spec.team and spec.subject');
  const groups = groupsOfSpec(spec['groups']);
  if ('refusal' in groups) return groups;
  const field = named[0];
  if (field === undefined) return groups.groups.length === 0 ? undefined : refuse(groupsAlone);
  const problem = nameProblem(spec[field]);
  if (problem !== undefined) return refuse(`spec.${field} ${problem}`);
  return { identity: createIdentity(field, spec[field] as string, groups.groups) };
}

const namingFields = ['user', 'team', 'subject'] as const;
const groupsAlone =
  'spec.groups needs spec.user, spec.team or spec.subject; with spec.accessKey the groups come from that key';

function createIdentity(
  kind: (typeof namingFields)[number],
  name: string,
  groups: readonly string[],
): Identity {
  if (kind !== 'team') return { kind, user: name, groups };
  return { kind, user: `team:${name}`, groups: [`team:${name}`, ...groups] };
}

function groupsOfSpec(value: unknown): { groups: readonly string[] } | { refusal: Problem } {
  if (value === undefined || value === null) return { groups: [] };
  if (!Array.isArray(value)) return refuse('spec.groups must be a list of group names');
  if (value.length > maxGroups)
    return refuse(`spec.groups holds ${value.length} groups; at most ${maxGroups} are allowed`);
  for (const [index, group] of value.entries()) {
    const problem = nameProblem(group);
    if (problem !== undefined) return refuse(`spec.groups[${index}] ${problem}`);
  }
  return { groups: value as string[] };
}

function nameProblem(name: unknown): string | undefined {
  if (typeof name !== 'string') return 'must be a string';
  if (name === '') return 'must not be empty';
  if (!isCleanName(name)) return 'must be printable ASCII without a space at either end';
  const prefix = reservedPrefixes.find((reserved) => name.startsWith(reserved));
  return prefix === undefined
    ? undefined
    : `must not begin with "${prefix}", which is reserved; choose another name`;
}

const refuse = (message: string): { refusal: Problem } => ({
  refusal: { reason: reasons.identityInvalid, message },
});
