import { reasons } from '../../api/reasons.ts';
import type { Identity } from '../../credentials/identity.ts';
import type { CredentialRecord, Requester } from '../../credentials/record.ts';
import type { Invitation } from '../../credentials/requester.ts';
import type { AccessQuestion } from '../../platform/access-review.ts';
import type { CredentialRefusal } from './desired-status.ts';

/** The rights of the one who asked for the present spec that must be there before it is confirmed. */
export interface Review {
  readonly asker: Requester;
  readonly questions: readonly AccessQuestion[];
  /** Of a child that its parent invites: the namespace must still be the one that was meant. */
  readonly invitation?: {
    readonly namespace: string;
    readonly uid: string;
    /** The question if it is another; absent: the asker may not name the parent then. */
    readonly otherwise?: readonly AccessQuestion[];
  };
  /** It is about groups that the keys above got since: a no leaves the credential as it is, without them. */
  readonly ofNewGroups?: true;
}

/** Who asked for the present spec; undefined where the annotations do not say. */
export const askerOf = ({ changedBy, requester }: CredentialRecord): Requester | undefined =>
  changedBy ?? requester;

/**
 * The questions that the admission policies have asked already. They may have been away for a moment, and no policy can see the key
 * that `spec.accessKey` names. Undefined when there is nothing to ask: a key for oneself costs no review. One of which no one
 * knows who asked for it is refused before.
 */
export function reviewOf(record: CredentialRecord, identity: Identity, naming: Naming): Review | undefined {
  const asker = askerOf(record);
  if (asker === undefined) return undefined;
  if (isConfirmedSpec(record)) return reviewOfNewGroups(asker, record, identity, naming);
  return review(asker, naming, identityQuestions(asker, record, identity), secretQuestions(record));
}

function review(
  asker: Requester,
  { invitation, mayName }: Naming,
  aboutIdentity: readonly AccessQuestion[],
  others: readonly AccessQuestion[] = [],
): Review | undefined {
  if (invitation.kind === 'pinned') {
    const { namespace, uid } = invitation;
    const otherwise = mayName ? { otherwise: aboutIdentity } : {};
    return { asker, questions: others, invitation: { namespace, uid, ...otherwise } };
  }
  const questions = [...aboutIdentity, ...others];
  return questions.length === 0 ? undefined : { asker, questions };
}

/** A credential that was confirmed by a release that did not ask keeps the groups that it has. */
function reviewOfNewGroups(
  asker: Requester,
  { accessKey, status }: CredentialRecord,
  { groups }: Identity,
  naming: Naming,
): Review | undefined {
  const { confirmedGroups } = status;
  if (accessKey === undefined || confirmedGroups === undefined) return undefined;
  const added = groups.filter((group) => !confirmedGroups.includes(group));
  if (added.length === 0) return undefined;
  const missing = added.filter((group) => !asker.groups.includes(group));
  const asked = review(
    asker,
    naming,
    missing.map((group) => impersonate('groups', group)),
  );
  return asked && { ...asked, ofNewGroups: true };
}

/** By what a child may name its parent. */
export interface Naming {
  readonly invitation: Invitation;
  /** Whether the requester may without an invitation. */
  readonly mayName: boolean;
}

/** A confirmed spec is not asked about again: the one who asked may have left since. */
export function isConfirmedSpec({ status, fingerprints }: CredentialRecord): boolean {
  return status.fingerprint !== undefined && fingerprints.includes(status.fingerprint);
}

/**
 * A child has the identity of its parent, so one who names a parent must be able to make it. A token without one has the
 * groups that its requester had.
 */
function identityQuestions(
  asker: Requester,
  { accessKey }: CredentialRecord,
  { kind, user, groups }: Identity,
): readonly AccessQuestion[] {
  const isOwn = asker.user === user;
  if (kind === 'requester' && isOwn) return [];
  // Membership in a team does not count, because a key of the team outlives it.
  const isNamed = accessKey === undefined && (kind === 'team' || kind === 'subject');
  const held = groups.filter((group) => asker.groups.includes(group) && !(isNamed && group === user));
  return [
    ...(isOwn && !isNamed ? [] : [impersonate('users', user)]),
    ...groups.filter((group) => !held.includes(group)).map((group) => impersonate('groups', group)),
  ];
}

const impersonate = (resource: 'users' | 'groups', name: string): AccessQuestion => ({
  group: '',
  verb: 'impersonate',
  resource,
  name,
});

function secretQuestions({ secretRef, namespace: own }: CredentialRecord): readonly AccessQuestion[] {
  if (secretRef === undefined) return [];
  const { name, namespace = own ?? '' } = secretRef;
  return ['get', 'create', 'update'].map((verb) => ({
    group: '',
    verb,
    resource: 'secrets',
    namespace,
    name,
  }));
}

/** The answer may change: the role may be younger than the object in one sync. */
export function notPermitted(
  { user }: Requester,
  { verb, resource, namespace, name }: AccessQuestion,
): CredentialRefusal {
  const place = namespace === undefined ? '' : ` in the namespace ${namespace}`;
  return {
    reason: reasons.requesterNotPermitted,
    message: `User ${JSON.stringify(user)} needs the verb "${verb}" on ${resource}/${name}${place}: grant it, or let someone who has it create this object.`,
    final: false,
  };
}

/** It is right again only when its name was taken out of `spec.allowedNamespaces` of the parent and put back. */
export const otherNamespace: CredentialRefusal = {
  reason: reasons.accessKeyNotAllowed,
  message:
    'spec.accessKey names a key that is open to an earlier namespace of this name: its owner takes the name out of spec.allowedNamespaces and puts it back.',
  final: true,
};
