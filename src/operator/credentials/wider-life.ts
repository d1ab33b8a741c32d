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
