import { conditionTypes, findCondition } from '../../api/conditions.ts';
import { reasons } from '../../api/reasons.ts';
import { lifeOfAccessKey, lifeOfIssued } from '../../credentials/life.ts';
import type { CredentialRecord } from '../../credentials/record.ts';

/** Whether a change asks for what no fingerprint covers: another credential, a longer life, or an end to being disabled. */
export function asksForMoreLife(previous: CredentialRecord, current: CredentialRecord): boolean {
  return isRotated(previous, current) || isEnabled(previous, current) || livesLonger(previous, current);
}

/** One that is done already asks for nothing. */
const isRotated = (previous: CredentialRecord, { rotate, status }: CredentialRecord): boolean =>
  rotate !== undefined && rotate !== previous.rotate && rotate !== status.observedRotation;

/** The operator enables what is disabled by itself alone. So a change that makes it look like that enables it, too. */
function isEnabled(previous: CredentialRecord, current: CredentialRecord): boolean {
  if (!previous.disabled || previous.disabledOwner === 'operator') return false;
  return !current.disabled || current.disabledOwner === 'operator';
}

function livesLonger(previous: CredentialRecord, current: CredentialRecord): boolean {
  return (
    secondsOf(current) > secondsOf(previous) ||
    (current.ttlAfterLastActivity && !previous.ttlAfterLastActivity) ||
    current.renewBefore !== previous.renewBefore
  );
}

function secondsOf(record: CredentialRecord): number {
  if (record.kind !== 'OwnedAccessKey') return lifeOfIssued(record, { issuedAt: 0 }).confirmedTTL;
  return lifeOfAccessKey(record).confirmedTTL || Number.POSITIVE_INFINITY;
}

/**
 * The same where no one has seen what it was before, of an object whose fingerprint is confirmed: only its status tells. A rotation is
 * an annotation, all else a change of `spec` that the operator has not seen yet.
 */
export function hasMoreThanConfirmed(record: CredentialRecord): boolean {
  if (asksForRotation(record)) return true;
  return record.observedGeneration < record.generation && (hasWiderSpec(record) || mayHideStop(record));
}

/** Of several changes only the last one can be seen, and the one before may have been an emergency stop. */
function mayHideStop({ kind, generation, observedGeneration, disabled }: CredentialRecord): boolean {
  return kind === 'OwnedAccessKey' && !disabled && generation - observedGeneration > 1;
}

/** A key that was supplied is never made again, so its annotation waits for ever. */
function asksForRotation({ rotate, status }: CredentialRecord): boolean {
  const isSupplied = status.keySource === 'Plain' || status.keySource === 'Hash';
  return rotate !== undefined && rotate !== status.observedRotation && !isSupplied;
}

function hasWiderSpec(record: CredentialRecord): boolean {
  const { confirmedTTL = 0, notAfter, allowedNamespaces = [] } = record.status;
  const confirmed = confirmedTTL || Number.POSITIVE_INFINITY;
  const pinned = new Set(allowedNamespaces.map(({ name }) => name));
  return (
    wasStopped(record) ||
    secondsOf(record) > confirmed ||
    (record.ttlAfterLastActivity && notAfter !== undefined) ||
    mayRenew(record) ||
    // No status says by which template the Secret was written.
    record.secretTemplate !== undefined ||
    record.allowedNamespaces.some((name) => !pinned.has(name))
  );
}

/** Someone had disabled it, and it is enabled now, or looks as if the operator had disabled it. */
function wasStopped({ conditions, disabled, disabledOwner, status }: CredentialRecord): boolean {
  if (disabled && disabledOwner !== 'operator') return false;
  const reason = findCondition(conditions, conditionTypes.ready)?.reason;
  // The operator says that a life is over also of what someone had disabled before.
  return reason === reasons.disabled || (reason === reasons.expired && status.disabledByExpiry === undefined);
}

/** No status says which `renewBefore` it was issued with. */
const mayRenew = ({ accessKey, renewBefore, secretRef }: CredentialRecord): boolean =>
  accessKey !== undefined && (renewBefore ?? (secretRef === undefined ? 0 : 1)) > 0;
