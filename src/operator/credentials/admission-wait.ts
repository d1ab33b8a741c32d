import { reasons } from '../../api/reasons.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import type { DesiredStatus } from './desired-status.ts';

/** Always the same words: a message that said how many are missing would have every waiting object written again and again. */
const waiting = {
  reason: reasons.admissionMissing,
  message:
    'Nothing new is confirmed while an admission policy of Latchkey is missing or of another version: have config/admission of the same release applied.',
} as const;

/**
 * Status of a credential that waits for the admission policies; undefined while what was confirmed before goes on working.
 * Nothing that was confirmed is taken back: it is right again as soon as the spec is what it was.
 */
export function admissionWait(record: CredentialRecord, now: number): DesiredStatus | undefined {
  if (goesOn(record, now)) return undefined;
  return {
    confirmation: { ...record.status, ...(record.kind === 'OwnedAccessKey' ? { active: false } : {}) },
    ready: { status: 'False', ...waiting },
    reconciling: waiting,
  };
}

function goesOn({ status, fingerprints }: CredentialRecord, now: number): boolean {
  const { credentialHash, fingerprint, notAfter = Number.POSITIVE_INFINITY } = status;
  return (
    credentialHash !== undefined &&
    fingerprint !== undefined &&
    fingerprints.includes(fingerprint) &&
    now < notAfter
  );
}
