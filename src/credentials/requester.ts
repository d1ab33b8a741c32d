import { parseJSON } from '../api/json.ts';
import { annotations as names } from '../api/names.ts';
import { reasons } from '../api/reasons.ts';
import { type Identity, type IdentityResult, isCleanName, isReserved } from './identity.ts';
import type { CredentialKind, CredentialRecord, LiveRecord, Requester } from './record.ts';

/**
 * Reads the stamps of the mutating policy. `undefined` when one of them is missing or is not exactly what the policy writes:
 * half a stamp must not count as a requester with fewer groups.
 */
export function parseRequester(annotations: Annotations): Requester | undefined {
  return parseStamps(annotations[names.requester], annotations[names.requesterGroups]);
}

/** The same of the last change that the policies judge. */
export function parseChangedBy(annotations: Annotations): Requester | undefined {
  return parseStamps(annotations[names.changedBy], annotations[names.changedByGroups]);
}

type Annotations = Readonly<Record<string, unknown>>;

function parseStamps(user: unknown, list: unknown): Requester | undefined {
  const groups = parseGroups(list);
  if (typeof user !== 'string' || user === '' || groups === undefined) return undefined;
  return { user, groups };
}

/**
 * Who a token or kubeconfig without `spec.accessKey` speaks for. Reserved groups are left out, so that no one turns a
 * membership of `system:masters` into something that lasts; a requester in one of the reserved names gets nothing.
 */
export function identityOfRequester(requester: Requester | undefined): IdentityResult {
  if (requester === undefined) return { refusal: unknownRequester };
  const { user, groups } = requester;
  const team = user.startsWith('team:') && !isReserved(user.slice('team:'.length)) && user !== 'team:';
  if (!isCleanName(user) || (isReserved(user) && !team)) return { refusal: requesterNotAllowed(user) };
  const kept = groups.filter((name) => isCleanName(name) && (!isReserved(name) || (team && name === user)));
  return { identity: { kind: 'requester', user, groups: [...new Set(kept)] } };
}

const unknownRequester = {
  reason: reasons.requesterUnknown,
  message: `the annotations ${names.requester} and ${names.requesterGroups} do not say who asked for this; create the object again, or set spec.accessKey`,
} as const;

const requesterNotAllowed = (user: string) =>
  ({
    reason: reasons.requesterNotAllowed,
    message: `${JSON.stringify(user)} cannot have a credential of its own; set spec.accessKey to the access key that this one belongs to`,
  }) as const;

/** Whose credential it is. */
export interface Owned {
  readonly kind: CredentialKind;
  readonly accessKey?: string;
  readonly identity?: Identity;
  readonly requester?: Requester;
}

/**
 * Whether this user owns the credential: it made it, or it is the user that a key speaks for. A key below a key takes its identity
 * from there, so only its creator owns it. The policy latchkey-ownership lets no one else change a spec.
 */
export function isOwnedBy({ user }: Requester, { kind, accessKey, identity, requester }: Owned): boolean {
  const isUser = kind === 'OwnedAccessKey' && accessKey === undefined && identity?.user === user;
  return isUser || requester?.user === user;
}

/** `management.platform.sh/requester` and the like on an object that names a parent. */
export interface NamingChild {
  /** The namespace of a namespaced child. */
  readonly namespace?: string;
  /** The user that the parent speaks for, when it takes its identity from a parent of its own. */
  readonly parentUser?: string;
}

/**
 * Whether this requester may set `spec.accessKey` to that parent without an invitation: it is the parent's own user, or it made
 * the parent (which a `system:` account, that makes keys for many people, may not use).
 */
export function mayNameAccessKey(
  requester: Requester | undefined,
  parent: LiveRecord,
  { parentUser: inherited }: Pick<NamingChild, 'parentUser'> = {},
): boolean {
  if (requester === undefined || requester.user === '') return false;
  if (requester.user.startsWith('system:')) return false;
  const parentUser = parent.accessKey === undefined ? parent.identity?.user : inherited;
  return requester.user === parentUser || requester.user === parent.requester?.user;
}

/** How the parent is open to the namespace that the child is in. */
export type Invitation =
  | { readonly kind: 'none' }
  /** The parent lists the namespace, and its UID is not pinned yet. */
  | { readonly kind: 'pending' }
  | { readonly kind: 'pinned'; readonly namespace: string; readonly uid: string };

/** A stranger may make a namespace again that was deleted: so it is known by its UID, and one that did not exist has none. */
export function invitationOf(
  { namespace }: Pick<NamingChild, 'namespace'>,
  { allowedNamespaces, status }: Pick<CredentialRecord, 'allowedNamespaces' | 'status'>,
): Invitation {
  if (namespace === undefined || !allowedNamespaces.includes(namespace)) return { kind: 'none' };
  const pin = status.allowedNamespaces?.find(({ name }) => name === namespace);
  if (pin === undefined) return { kind: 'pending' };
  return pin.uid === undefined ? { kind: 'none' } : { kind: 'pinned', namespace, uid: pin.uid };
}

/** The policy writes a JSON array of strings. */
function parseGroups(value: unknown): readonly string[] | undefined {
  const groups = typeof value === 'string' ? parseJSON(value) : undefined;
  if (!Array.isArray(groups)) return undefined;
  return groups.every((group) => typeof group === 'string') ? groups : undefined;
}

/** `name/uid` of one credential; the policy joins several claims with a comma, which no honest request has. */
export function isCreatedWith(stamp: string): boolean {
  return /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?\/[0-9a-zA-Z-]{1,64}$/.test(stamp);
}
