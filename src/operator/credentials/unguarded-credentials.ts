import { hash } from 'node:crypto';
import { conditionTypes, findCondition } from '../../api/conditions.ts';
import { reasons } from '../../api/reasons.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import type { ChangeRules } from '../admission/unguarded-changes.ts';
import { type CredentialRefusal, hasOtherRequester } from './desired-status.ts';
import { isConfirmedSpec } from './review.ts';
import { asksForMoreLife, hasMoreThanConfirmed } from './wider-life.ts';

/**
 * How changes of a credential in a time without policies are known. Where its records are true, a change by a stranger names that stranger,
 * and is refused for it.
 */
export const credentialRules: ChangeRules<CredentialRecord> = {
  guarded: { made: 'records', changed: 'changes' },
  contentOf,
  counts: (previous, current, isRecorded) => {
    const isWider = grantOf(previous) !== grantOf(current) || asksForMoreLife(previous, current);
    return isRecorded
      ? isWider && current.problem === undefined
      : isWider || recordsOf(previous) !== recordsOf(current);
  },
  isConfirmed: isConfirmedSpec,
  // A credential that is not confirmed may say anything: its annotations leave no trace in a generation.
  hasGained: (record) =>
    record.status.credentialHash === undefined || !isConfirmedSpec(record) || hasMoreThanConfirmed(record),
  isNoted: (record) => record.deleted !== undefined || isNoted(record),
};

/** The fields that the fingerprint covers, who may name it as a parent, and what goes into the Secret besides. */
const grantOf = ({ fingerprints, allowedNamespaces, secretTemplate }: CredentialRecord): string =>
  JSON.stringify([fingerprints, allowedNamespaces, ...(secretTemplate ? [secretTemplate] : [])]);

/** The record of those who asked. */
const recordsOf = ({ requester, changedBy, isBeyondLimits, createdWith }: CredentialRecord): string =>
  JSON.stringify([requester, changedBy, isBeyondLimits, createdWith]);

/**
 * Of all this no one but its owner alters anything where the policies are there, and not without being asked about the result. Others
 * may disable it, and its owner may describe it and have it made again unasked.
 */
function contentOf(record: CredentialRecord): string {
  const { kind, ttl, ttlAfterLastActivity, renewBefore } = record;
  // A message of an earlier release has a hash of this form.
  const ttls = kind === 'VirtualClusterInstanceKubeConfig' ? [undefined, ttl] : [ttl, undefined];
  const life = [...ttls, ttlAfterLastActivity, renewBefore];
  return JSON.stringify([grantOf(record), recordsOf(record), life]);
}

const neverConfirmed =
  'The admission policies that record who asks were missing when this object was made or changed: delete it and create it again.';

const changedMessage =
  'Admission policies were missing or edited when this object was changed, so no one knows whose wish it is: its owner looks at the whole of spec and changes it once more, by another ttl or scope, or deletes it';

const changed = new RegExp(`^${changedMessage} \\(change ([0-9a-f]{16})\\)\\.$`);

const shortHash = (record: CredentialRecord): string => hash('sha256', contentOf(record), 'hex').slice(0, 16);

/**
 * An object that was confirmed before is right again once its owner has changed it. What never was may name anyone as its owner, so it
 * stays refused.
 */
export function unguardedRefusal(record: CredentialRecord): CredentialRefusal {
  const isFirst = record.status.fingerprint === undefined || messageOf(record) === neverConfirmed;
  // No change that the policies judge makes its annotation true again.
  const isLasting = isFirst || hasOtherRequester(record);
  const message = isLasting ? neverConfirmed : `${changedMessage} (change ${shortHash(record)}).`;
  return { reason: reasons.requesterUnknown, message, final: true };
}

/** The finding of an operator is known to the next one too. */
export function isNoted(record: CredentialRecord): boolean {
  const ready = findCondition(record.conditions, conditionTypes.ready);
  const message = ready?.message ?? '';
  if (message === neverConfirmed) return true;
  const [, noted] = changed.exec(message) ?? [];
  if (noted === undefined) return false;
  // A later release may compute another hash of the same spec.
  return record.generation <= (ready?.observedGeneration ?? 0) || noted === shortHash(record);
}

const messageOf = ({ conditions }: CredentialRecord): string | undefined =>
  findCondition(conditions, conditionTypes.ready)?.message;
