import { hash } from 'node:crypto';
import { conditionTypes, findCondition } from '../../api/conditions.ts';
import { reasons } from '../../api/reasons.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import type { ChangeRules } from '../admission/unguarded-changes.ts';
import type { CredentialRefusal } from './desired-status.ts';
import { isConfirmedSpec } from './review.ts';
import { asksForMoreLife, hasMoreThanConfirmed } from './wider-life.ts';

/** How changes of a credential in a time without policies are known. */
export const credentialRules: ChangeRules<CredentialRecord> = {
  contentOf,
  counts: (previous, current) => saysOf(previous) !== saysOf(current) || asksForMoreLife(previous, current),
  isConfirmed: isConfirmedSpec,
  // What is not confirmed may say anything: its annotations leave no trace in a generation.
  hasGained: (record) =>
    record.status.credentialHash === undefined || !isConfirmedSpec(record) || hasMoreThanConfirmed(record),
  isNoted: (record) => record.deleted !== undefined || isNoted(record),
};

/** What the fingerprint covers, who may name it as a parent, and what it says of those who asked. */
function saysOf(record: CredentialRecord): string {
  const { fingerprints, requester, changedBy, isBeyondLimits, createdWith, allowedNamespaces } = record;
  return JSON.stringify([fingerprints, requester, changedBy, isBeyondLimits, createdWith, allowedNamespaces]);
}

/**
 * Of all this no one but its owner alters anything where the policies are there, and not without being asked about the result. Others
 * may disable it, and its owner may describe it and have it made again unasked.
 */
function contentOf(record: CredentialRecord): string {
  const { ttl, certificateTTL, ttlAfterLastActivity, renewBefore } = record;
  return JSON.stringify([saysOf(record), ttl, certificateTTL, ttlAfterLastActivity, renewBefore]);
}

const neverConfirmed =
  'The admission policies that stamp who asks were missing when this object was made or changed: delete it and create it again.';

const changedMessage =
  'Admission policies were missing or edited when this object was changed, so no one knows whose wish it is: its owner looks at the whole of spec and changes it once more, by another ttl or scope, or deletes it';

const changed = new RegExp(`^${changedMessage} \\(change ([0-9a-f]{16})\\)\\.$`);

const shortHash = (record: CredentialRecord): string => hash('sha256', contentOf(record), 'hex').slice(0, 16);

/**
 * What was confirmed before is right again once its owner has changed it. What never was may name anyone as its owner, so it stays
 * refused.
 */
export function unguardedRefusal(record: CredentialRecord): CredentialRefusal {
  const isFirst = record.status.fingerprint === undefined || messageOf(record) === neverConfirmed;
  const message = isFirst ? neverConfirmed : `${changedMessage} (change ${shortHash(record)}).`;
  return { reason: reasons.requesterUnknown, message, final: true };
}

/** What an operator found out is known to the next one too. */
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
