import type { CredentialKind } from '../../api/credential-kinds.ts';
import type { LiveRecord } from '../../credentials/record.ts';
import type { CredentialRecords } from './credential-records.ts';
import type { Verdict } from './verdict.ts';

/** The parts that decide ownership; a whole verdict is one. */
export type Holder = Pick<Verdict, 'record' | 'identity' | 'gates'>;

/**
 * Whether a credential is one's own: the holder's user made it, or it is a key that speaks for that user. The same rule stands
 * in the admission policy `latchkey-ownership`. A key below a key takes its identity from there: it is its maker's alone. A
 * credential with a scope has itself and its children only. Each has itself. One with an end or a parent sees and ends the others
 * of its user too, but does not change them.
 */
export function isOwn(object: LiveRecord, { record, identity, gates }: Holder): boolean {
  if (object.uid === record.uid) return true;
  return isOf(object, identity.user) && (gates.length === 0 || isChild(object, record));
}

/** Made by the user, or a key that speaks for them. */
export const isOf = (object: LiveRecord, user: string): boolean =>
  object.requester?.user === user || speaksFor(object, user);

const speaksFor = ({ kind, accessKey, identity }: LiveRecord, user: string): boolean =>
  kind === 'OwnedAccessKey' && accessKey === undefined && identity?.user === user;

/** The parent is pinned by its UID at the first issue. Before that the name counts: its maker is the user that we look for. */
const isChild = ({ accessKey, status }: LiveRecord, parent: LiveRecord): boolean =>
  isChildOf({ accessKey, accessKeyUID: status.accessKeyUID }, parent);

interface ParentLink {
  readonly accessKey: string | undefined;
  readonly accessKeyUID: string | undefined;
}

export function isChildOf({ accessKey, accessKeyUID }: ParentLink, parent: LiveRecord): boolean {
  if (parent.kind !== 'OwnedAccessKey' || accessKey !== parent.name) return false;
  return accessKeyUID === undefined || accessKeyUID === parent.uid;
}

/** The users that {@link isOwn} can name: the index finds the objects of a user by these. */
export function ownersOf(record: LiveRecord): readonly string[] {
  const { kind, accessKey, identity, requester } = record;
  const speaker = kind === 'OwnedAccessKey' && accessKey === undefined ? identity?.user : undefined;
  return [...new Set([requester?.user, speaker])].filter((user) => user !== undefined);
}

/** All of one's own of a kind, in the order of namespaces and names. */
export function findAllOwn(
  records: Pick<CredentialRecords, 'ofKind'>,
  kind: CredentialKind,
  holder: Holder,
): readonly LiveRecord[] {
  const ofUser = records.ofKind[kind].byIndex('owner', holder.identity.user);
  const self = kind === holder.record.kind ? [holder.record] : [];
  return [...new Map([...self, ...ofUser].map((record) => [record.key, record])).values()]
    .filter((record) => isOwn(record, holder))
    .sort((one, other) => (one.key < other.key ? -1 : 1));
}
