import type { Reason } from '../../api/reasons.ts';
import type { Confirmation, CredentialRecord } from '../../credentials/record.ts';
import type { DesiredStatus } from './desired-status.ts';

export interface RefusedFor {
  readonly reason: Reason;
  readonly message: string;
  /** True when it stays so until a person changes something. */
  readonly final: boolean;
  /** What people are shown of the credential that was refused. */
  readonly keyID?: string;
}

/**
 * Status of a credential that grants nothing. The hash goes, so no verifier can grant by it; the serial stays, so
 * that no serial is used twice; the pinned UIDs of parent and instance stay, so that a new one cannot revive it.
 */
export function refusedStatus(
  record: CredentialRecord,
  { reason, message, final, keyID }: RefusedFor,
): DesiredStatus {
  const { serial, accessKeyUID, observedRotation, disabledByExpiry, instanceUID, boundSerials } =
    record.status;
  return {
    confirmation: {
      ...lifeOf(record),
      serial,
      ...(record.kind === 'OwnedAccessKey' ? { active: false } : {}),
      ...(accessKeyUID === undefined ? {} : { accessKeyUID }),
      ...(observedRotation === undefined ? {} : { observedRotation }),
      ...(disabledByExpiry === undefined ? {} : { disabledByExpiry }),
      ...(instanceUID === undefined ? {} : { instanceUID }),
      ...(boundSerials === undefined ? {} : { boundSerials }),
      ...(keyID === undefined ? {} : { keyID }),
    },
    ready: { status: 'False', reason, message },
    ...(final ? { stalled: { reason, message } } : { reconciling: { reason, message } }),
    credential: null,
  };
}

/** A refusal that passes does not begin a new life: a token that has ended stays ended. */
function lifeOf({ kind, status }: CredentialRecord): Partial<Confirmation> {
  const { fingerprint, issuedAt, notAfter, confirmedTTL } = status;
  if (kind === 'OwnedAccessKey' || fingerprint === undefined) return {};
  return {
    fingerprint,
    ...(issuedAt === undefined ? {} : { issuedAt }),
    ...(notAfter === undefined ? {} : { notAfter }),
    ...(confirmedTTL === undefined ? {} : { confirmedTTL }),
  };
}
