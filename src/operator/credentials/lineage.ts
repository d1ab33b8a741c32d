import { isDeepStrictEqual } from 'node:util';
import { annotations } from '../../api/names.ts';
import { type Reason, reasons } from '../../api/reasons.ts';
import { resolveAncestors } from '../../credentials/ancestors.ts';
import type { Identity } from '../../credentials/identity.ts';
import { isLive } from '../../credentials/liveness.ts';
import { concernsObject } from '../../credentials/locks/find-lock.ts';
import type { LockRecord } from '../../credentials/locks/lock-record.ts';
import type { Confirmation, CredentialRecord } from '../../credentials/record.ts';
import { invitationOf, mayNameAccessKey } from '../../credentials/requester.ts';
import { resolveIdentity } from '../../credentials/resolve-identity.ts';
import type { Locks } from '../../platform/locks.ts';
import type { DesiredCondition } from '../shared/conditions.ts';
import { type CreatorInput, creatorProblem } from './creator.ts';
import { type CredentialRefusal, hasOtherRequester } from './desired-status.ts';
import { askerOf, isConfirmedSpec, type Naming, type Review, reviewOf } from './review.ts';
import { type SitePolicyInput, sitePolicyProblem } from './site-policy.ts';
import { isNoted, unguardedRefusal } from './unguarded-credentials.ts';

/** Who a credential speaks for, and what the access keys above it say. */
export type Lineage =
  /** `ancestors`: nearest first, empty without `spec.accessKey`. `end`: the earliest of theirs, epoch milliseconds. */
  | {
      readonly kind: 'live';
      readonly identity: Identity;
      readonly ancestors: readonly CredentialRecord[];
      readonly end: number;
      /** It stops the present credential, and would not stop a successor. */
      readonly lock?: DesiredCondition;
    }
  /** An ancestor does not work now, or a lock stops it: nothing is issued, and what was issued grants nothing meanwhile. */
  | {
      readonly kind: 'blocked';
      readonly ancestors: readonly CredentialRecord[];
      readonly reason: Reason;
      readonly message: string;
      /** True when the present spec of an ancestor is not reconciled yet: it will be within milliseconds. */
      readonly tooEarly: boolean;
    }
  /** First the one who asked for the present spec has to be asked about. */
  | { readonly kind: 'unreviewed'; readonly review: Review }
  /** Nothing may be issued. */
  | { readonly kind: 'refused'; readonly problem: CredentialRefusal };

export interface LineageInput extends CreatorInput, SitePolicyInput {
  /** Epoch milliseconds. */
  readonly now: number;
  /** Since when the policies stamp who asks, epoch milliseconds; 0 while that is not known. */
  readonly trustedSince: number;
  /** True when it was made or changed in a time without policies. */
  readonly isUnguarded: boolean;
  readonly locks: Pick<Locks, 'find'>;
  /** The outcome of the review of the one who asked for the present spec. The keys above may have got more since. */
  readonly reviewed?: Review;
  /** Set once they were found not to be permitted to have the groups that the keys above got since. */
  readonly withoutNewGroups?: { readonly retryMs: number };
}

/** A credential that may be confirmed, now or as soon as the keys above it work. */
export type GrantedLineage = Extract<Lineage, { readonly ancestors: unknown }>;

/** How long to wait for a parent that changed just now, milliseconds. */
export const parentGrace = 5_000;

const refused = (reason: Reason, message: string, final = true): Lineage => ({
  kind: 'refused',
  problem: { reason, message, final },
});

/** A parent that was pinned once and is missing, being deleted, or has another UID is gone for good: a new key never inherits. */
export function lineageOf(input: LineageInput): Lineage {
  const { record, lookup } = input;
  // First, because its message is what the next operator knows it by: a problem that passes must not take its place.
  if (isUnguarded(input)) return { kind: 'refused', problem: unguardedRefusal(record) };
  if (record.problem !== undefined) return refused(record.problem.reason, record.problem.message);
  const problem = creatorProblem(input);
  if (problem !== undefined) return { kind: 'refused', problem };
  const found = resolveAncestors(record, lookup, { firstIssue: true });
  if ('reason' in found)
    return refused(found.reason, messages[found.reason] ?? messages.default, isFinal(found.reason));
  const [parent] = found.ancestors;
  if (parent?.deleted !== undefined) {
    return record.status.accessKeyUID === undefined
      ? refused(reasons.accessKeyNotFound, messages[reasons.accessKeyNotFound], false)
      : refused(reasons.accessKeyGone, messages[reasons.accessKeyGone]);
  }
  if (hasUnknownAsker(record)) return noRecord;
  const naming = namingOf(record, found.ancestors);
  if (naming.invitation.kind === 'none' && !naming.mayName)
    return refused(reasons.accessKeyNotAllowed, messages[reasons.accessKeyNotAllowed]);
  const unwanted = sitePolicyProblem(input);
  if (unwanted !== undefined) return { kind: 'refused', problem: unwanted };
  return identified(input, found.ancestors, naming);
}

/** Without an asker there is no one to ask about. What was confirmed before there were records stays as it is. */
const hasUnknownAsker = (record: CredentialRecord): boolean =>
  askerOf(record) === undefined && !isConfirmedSpec(record);

const noRecord = refused(
  reasons.requesterUnknown,
  `The annotations ${annotations.requester} and ${annotations.requesterGroups} do not say who asked for this object: delete it and create it again.`,
);

/** It was made or changed in a time without policies, so no one knows who asked for the present spec. */
export function isUnguarded({ record, trustedSince, isUnguarded: isMarked }: LineageInput): boolean {
  const isOlder = record.status.serial === 0 && record.created < trustedSince;
  return isMarked || isOlder || hasOtherRequester(record) || isNoted(record);
}

// accessKey and identity of an object never change, so the fix is always another object.
const messages = {
  [reasons.accessKeyGone]:
    'The access key that spec.accessKey names was deleted: delete this object and create it under a live key.',
  [reasons.accessKeyNotFound]:
    'spec.accessKey names an OwnedAccessKey that does not exist: create that key, or create this object under another.',
  [reasons.accessKeyNotAllowed]:
    'spec.accessKey names a key that the requester neither speaks for nor made: create this object under a key of your own.',
  [reasons.accessKeyChainInvalid]:
    'The chain of access keys above this object has a loop or more than 8 levels: create this object under another key.',
  default: 'An access key above this credential is not confirmed yet.',
} as Readonly<Record<Reason | 'default', string>>;

const isFinal = (reason: Reason): boolean =>
  reason === reasons.accessKeyGone || reason === reasons.accessKeyChainInvalid;

/** Of the one who made the object, and of the one who last changed it. */
function namingOf(record: CredentialRecord, [parent, ...others]: readonly CredentialRecord[]): Naming {
  if (parent === undefined) return { invitation: { kind: 'none' }, mayName: true };
  const result = resolveIdentity(parent, others);
  const inherited = 'identity' in result ? { parentUser: result.identity.user } : {};
  const askers = [record.requester, record.changedBy ?? record.requester];
  return {
    invitation: invitationOf(record, parent),
    mayName: askers.every((asker) => mayNameAccessKey(asker, parent, inherited)),
  };
}

/** The key above has not pinned the namespace yet, which it does at once. */
function isPinning(
  record: CredentialRecord,
  [parent]: readonly CredentialRecord[],
  { invitation, mayName }: Naming,
): boolean {
  if (invitation.kind !== 'pending' || parent?.status.credentialHash === undefined) return false;
  return !mayName || !isConfirmedSpec(record);
}

/** Not reconciled yet. Its children would report a loss that lasts milliseconds. */
const isUnseen = ({ observedGeneration, generation }: CredentialRecord): boolean =>
  observedGeneration < generation;

/** No one has to be waited for to know it. The operator may write no status of a deleted key, which a finalizer holds for a day. */
const isStopped = ({ deleted, disabled }: CredentialRecord): boolean => deleted !== undefined || disabled;

function identified(input: LineageInput, ancestors: readonly CredentialRecord[], naming: Naming): Lineage {
  const { record, withoutNewGroups } = input;
  const { confirmedGroups: _, ...status } = record.status;
  // Where no one is known who may be asked about them, it gets no groups that the keys above got since.
  const isLimited =
    withoutNewGroups !== undefined || record.accessKey === undefined || askerOf(record) === undefined;
  const result = resolveIdentity(isLimited ? record : { ...record, status }, ancestors);
  if ('refusal' in result) return refused(result.refusal.reason, result.refusal.message);
  const { identity } = result;
  const lineage = judgedBy(ancestors, identity, input);
  if (isPinning(record, ancestors, naming))
    return {
      kind: 'blocked',
      ancestors,
      reason: reasons.accessKeyNotLive,
      message: messages.default,
      tooEarly: true,
    };
  if (withoutNewGroups || (lineage.kind === 'blocked' && lineage.tooEarly)) return lineage;
  const review = reviewOf(record, identity, naming);
  const isDone = review === undefined || isDeepStrictEqual(review, input.reviewed);
  return isDone ? lineage : { kind: 'unreviewed', review };
}

function judgedBy(
  ancestors: readonly CredentialRecord[],
  identity: Identity,
  input: LineageInput,
): GrantedLineage {
  const { lookup, now, limits } = input;
  const lock = lockOf(input, ancestors);
  if (lock?.isLasting === true) return { kind: 'blocked', ancestors, ...lock.condition, tooEarly: false };
  const present = lock && { lock: lock.condition };
  const [parent] = ancestors;
  if (parent === undefined)
    return { kind: 'live', identity, ancestors, end: Number.POSITIVE_INFINITY, ...present };
  const verdict = isLive(parent, lookup, now, limits);
  if (verdict.live) return { kind: 'live', identity, ancestors, end: verdict.end, ...present };
  const cause = verdict.accessKeyReason ?? verdict.reason;
  const message = `An access key above this credential does not work now: ${cause}.`;
  const tooEarly = ancestors.some(isUnseen) && !ancestors.some(isStopped);
  return { kind: 'blocked', ancestors, reason: reasons.accessKeyNotLive, message, tooEarly };
}

/** The reason that its owner sees. Why there is a lock, only those who see locks read. */
export const lockedBy = ({ name }: LockRecord): DesiredCondition => ({
  reason: reasons.locked,
  message: `The CredentialLock "${name}" stops it: it works again when the lock is gone.`,
});

/** Its certificate would count for as long as before, so another one is no way out of a lock by time. */
function lockOf({ record, locks, now }: LineageInput, ancestors: readonly CredentialRecord[]) {
  const [parent, ...others] = ancestors;
  const above = parent && locks.find(parent, others, { now });
  const own = above ?? locks.find(record, ancestors, { now });
  if (own === undefined) return undefined;
  const isLasting = above !== undefined || concernsObject(own, now) || record.kubeConfig?.clientCert === true;
  return { condition: lockedBy(own), isLasting };
}

/** Whether groups of the keys above come to a credential that it was confirmed without. */
export function hasNewGroups({ status }: CredentialRecord, { groups }: Identity): boolean {
  const { confirmedGroups: known } = status;
  return known !== undefined && groups.some((group) => !known.includes(group));
}

/** The most that the schema takes; and bytes that leave room in an object for all else. */
const maxRequesterGroups = { count: 512, length: 1_024, bytes: 16_384 };

/** A status that the schema refuses would keep the object from ever being confirmed. */
function fitsStatus(groups: readonly string[]): boolean {
  const { count, length, bytes } = maxRequesterGroups;
  if (groups.length > count || groups.some((group) => group.length > length)) return false;
  return Buffer.byteLength(JSON.stringify(groups)) <= bytes;
}

/** They only become fewer. What an earlier release issued gets them with its successor, not by a write of its own. */
function requesterGroupsOf(
  { kind, status: { confirmedGroups: known } }: CredentialRecord,
  identity: Identity | undefined,
): Pick<Confirmation, 'confirmedGroups'> {
  if (kind === 'OwnedAccessKey') return {};
  const confirmedGroups = identity?.groups ?? known;
  return confirmedGroups === undefined || !fitsStatus(confirmedGroups) ? {} : { confirmedGroups };
}

/** The groups that a credential below a key may have from now on. Not written again when the key has fewer. */
export function confirmedGroupsOf(
  record: CredentialRecord,
  identity: Identity | undefined,
): Pick<Confirmation, 'confirmedGroups'> {
  if (record.accessKey === undefined) return requesterGroupsOf(record, identity);
  const known = record.status.confirmedGroups;
  const isKept = identity === undefined || (known !== undefined && !hasNewGroups(record, identity));
  const confirmedGroups = isKept ? known : identity.groups;
  return confirmedGroups === undefined ? {} : { confirmedGroups };
}
