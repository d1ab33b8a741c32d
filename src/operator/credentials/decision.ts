import { defined } from '../../api/json.ts';
import { purposes } from '../../api/names.ts';
import { type Reason, reasons } from '../../api/reasons.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import type { SitePolicy } from '../../credentials/site-policy.ts';
import type { TargetName } from '../../scope/named-targets.ts';
import type { UnguardedChanges } from '../admission/unguarded-changes.ts';
import type { CredentialStores } from './credential-stores.ts';
import { type CredentialRefusal, type DesiredStatus, refusedStatus } from './desired-status.ts';
import type { LineageInput } from './lineage.ts';
import type { Review } from './review.ts';
import type { FindLayout, FoundLayout } from './secret-layout.ts';
import { type SecretRecord, secretKeyOf } from './secret-record.ts';
import type { SecretUpdate } from './secret-state.ts';
import { findUnmatchedScope, type UnmatchedScope } from './unmatched-scope.ts';

/** The facts that a decision about a credential of any kind depends on. Instants are epoch milliseconds. */
export interface DecisionInput extends Omit<LineageInput, 'limits'> {
  /** The Secret at the place that `spec.secretRef` names. */
  readonly secret?: SecretRecord;
  /** All Secrets with a credential of this object, wherever they are. */
  readonly ownSecrets: readonly SecretRecord[];
  /** Everything that the Secret is to have besides the credential. */
  readonly layout?: FoundLayout;
  /** Whether the owner may have one more live object of the kind. */
  readonly hasRoom: () => boolean;
  /** The scope names targets, and none of them is there. */
  readonly unmatchedScope?: UnmatchedScope;
}

/** One step at a time: each is a single write, and the next decision reads what that write left behind. */
export type CommonStep =
  | { readonly step: 'addFinalizer' }
  | { readonly step: 'delete' }
  /** Ask what the one who asked for the present spec may do. */
  | { readonly step: 'review'; readonly review: Review }
  /** Do nothing before another object was reconciled; its change brings this one again. */
  | { readonly step: 'wait'; readonly requeueAt: number }
  | Commit;

/** Nothing is left to do but to say so in status. */
export interface Commit {
  readonly step: 'commit';
  readonly desired: DesiredStatus;
  /** Why there is a new credential, when there is one. */
  readonly successor?: Reason;
  /** When the life ended, if it has; epoch milliseconds. */
  readonly endedAt?: number;
  /** Secrets made for this credential that are not needed any more; deleted after the status is written. */
  readonly staleSecrets: readonly SecretRecord[];
  /** The Secret that stays, where it does not say yet what the status says. */
  readonly secretUpdate?: SecretUpdate | undefined;
  /** When to check again, epoch milliseconds. */
  readonly requeueAt?: number;
}

export interface DecisionSources {
  readonly stores: CredentialStores;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Since when the policies stamp who asks, epoch milliseconds; 0 while that is not known. */
  readonly trustedSince: () => number;
  /** The objects that were made or changed in a time without policies. */
  readonly unguarded: Pick<UnguardedChanges<CredentialRecord>, 'has' | 'judged'>;
  readonly locks: LineageInput['locks'];
  /** The present site policy. */
  readonly sitePolicy: () => SitePolicy;
  readonly layoutOf: FindLayout;
  /** Whether something is known under this name. */
  readonly hasTarget: (name: TargetName) => boolean;
}

export function decisionInput(
  record: DecisionInput['record'],
  { stores, now, trustedSince, unguarded, locks, sitePolicy, hasTarget, layoutOf }: DecisionSources,
): DecisionInput {
  const unmatchedScope = findUnmatchedScope(record, hasTarget);
  const secretKey = secretKeyOf(record);
  const secret = secretKey === undefined ? undefined : stores.secret(secretKey);
  return {
    record,
    lookup: (name) => stores.key(name),
    credentialByUID: (uid) => stores.byUID(uid)[0],
    ...defined({ secret, unmatchedScope, layout: layoutOf(record) }),
    ownSecrets: stores.secretsOf(record.uid).filter(({ purpose }) => purpose === purposes.credential),
    hasRoom: () => stores.ofKind[record.kind].quota.hasRoom(record),
    now: now(),
    trustedSince: trustedSince(),
    isUnguarded: unguarded.has(record),
    locks,
    sitePolicy: sitePolicy(),
  };
}

/** A credential that grants nothing, and what goes with it. */
export function refuse({ record, ownSecrets, now }: DecisionInput, refusal: CredentialRefusal): Commit {
  return {
    step: 'commit',
    desired: refusedStatus(record, refusal),
    staleSecrets: ownSecrets,
    // Thousands may wait for room, and the quota brings the one that may go on.
    ...(refusal.reason === reasons.quotaExceeded ? {} : { requeueAt: now + recheckAfter(refusal.reason) }),
  };
}

/** Secrets of others and namespaces are not watched, so what is wrong with them is checked often. */
const secretRecheckMs = 10_000;
/** Everything else comes again by itself when something changes. */
const otherRecheckMs = 60_000;

function recheckAfter(reason: Reason): number {
  const isSecret = reason === reasons.secretConflict || reason === reasons.secretFailed;
  return isSecret ? secretRecheckMs : otherRecheckMs;
}

/** Of an object beyond the bound of its owner. The same words for each: a number would have all of them written again and again. */
export const quotaExceeded: CredentialRefusal = {
  reason: reasons.quotaExceeded,
  message:
    'Its requester has as many live objects of this kind as one requester may have, and this one is among the newest: delete one that is not needed, or have LATCHKEY_MAX_OBJECTS_PER_OWNER raised. It goes on by itself when there is room.',
  final: false,
};
