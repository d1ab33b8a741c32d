import { defined } from '../../api/json.ts';
import { type Problem, reasons } from '../../api/reasons.ts';
import type { Identity } from '../../credentials/identity.ts';
import type { Confirmation, CredentialRecord } from '../../credentials/record.ts';
import { admissionMissing } from '../shared/admission-missing.ts';
import type { DesiredCondition, DesiredReady } from '../shared/conditions.ts';

/** The status that an object should have. `lastActivity` is never part of it: it belongs to the gateway. */
export interface DesiredStatus {
  readonly confirmation: Confirmation;
  readonly ready: DesiredReady;
  /** Present while something that the operator waits for is missing. */
  readonly reconciling?: DesiredCondition;
  /** Present when nothing changes until a person changes something. */
  readonly stalled?: DesiredCondition;
  readonly expiringSoon?: DesiredCondition;
  readonly rotationNotPossible?: DesiredCondition;
  readonly scopeMatchesNothing?: DesiredCondition;
  /** The credential as it stands in status: absent leaves it, null removes it. */
  readonly credential?: string | null;
}

/** Why a credential grants nothing. */
export interface CredentialRefusal extends Problem {
  /** True when it stays so until a person changes something. */
  readonly final: boolean;
  /** The key ID of the refused credential, for people. */
  readonly keyID?: string;
}

/** Of a Secret that could not be written. */
export function secretRefusal(problem: DesiredCondition): CredentialRefusal {
  return { ...problem, final: problem.reason === reasons.secretConflict };
}

/**
 * Status of a credential that grants nothing. The hash goes, so no verifier can grant by it. The serial stays, so that
 * no serial is used twice. The pinned UIDs of parent and instance stay, so that a new one cannot revive it.
 */
export function refusedStatus(
  record: CredentialRecord,
  { reason, message, final, keyID }: CredentialRefusal,
): DesiredStatus {
  const { serial, accessKeyUID, observedRotation, instanceUID, boundSerials } = record.status;
  const { allowedNamespaces, confirmedGroups, requester } = record.status;
  return {
    confirmation: {
      ...lastingLife(record),
      serial,
      ...inactive(record),
      ...defined({
        accessKeyUID,
        observedRotation,
        disabledByExpiry: disabledByExpiryOf(record),
        instanceUID,
        boundSerials,
        allowedNamespaces,
        confirmedGroups,
        requester,
        keyID,
      }),
      ...subjectOf(record, undefined),
    },
    ready: { status: 'False', reason, message },
    ...(final ? { stalled: { reason, message } } : { reconciling: { reason, message } }),
    credential: null,
  };
}

/**
 * The generation at which the operator itself disabled the key; it takes back nothing that someone else set. While it is there, an update
 * that leaves `spec.disabled` out takes it away.
 */
export function disabledByExpiryOf({
  disabled,
  disabledOwner,
  generation,
  status,
}: CredentialRecord): number | undefined {
  return disabled && disabledOwner === 'operator' ? (status.disabledByExpiry ?? generation) : undefined;
}

/** As the schema counts: characters, of which some take two places in a string. */
const maxUser = 1_024;

/** For people. `identity` is undefined while a key above does not say who the credential speaks for. */
export function subjectOf(
  { identity: own, status }: CredentialRecord,
  identity: Identity | undefined,
): Pick<Confirmation, 'subject'> {
  const subject = identity?.user ?? status.subject ?? own?.user;
  return subject === undefined ? {} : { subject: shortUser(subject) };
}

/** Who asked for what is confirmed. That never changes, and its annotation leaves no trace when it is forged. */
export function requesterOf({ requester, status }: CredentialRecord): Pick<Confirmation, 'requester'> {
  const user = status.requester ?? requester?.user;
  return user === undefined ? {} : { requester: shortUser(user) };
}

/** Whether its annotation names another one since. */
export const hasOtherRequester = ({ requester, status }: CredentialRecord): boolean =>
  status.requester !== undefined && status.requester !== shortUser(requester?.user ?? '');

/** A status that the schema refuses would keep the object from ever being confirmed, or refused. */
const shortUser = (user: string): string =>
  user.length <= maxUser ? user : [...user].slice(0, maxUser).join('');

/**
 * A refusal that passes does not begin a new life: a token that has ended stays ended. Nor is the requester asked about
 * again: they may have left since.
 */
function lastingLife({ kind, status }: CredentialRecord): Partial<Confirmation> {
  const { fingerprint, issuedAt, notAfter, confirmedTTL } = status;
  if (fingerprint === undefined) return {};
  if (kind === 'OwnedAccessKey') return { fingerprint, ...defined({ confirmedTTL, notAfter }) };
  return {
    fingerprint,
    ...defined({ issuedAt, notAfter, confirmedTTL }),
  };
}

const inactive = ({ kind }: CredentialRecord): Partial<Confirmation> =>
  kind === 'OwnedAccessKey' ? { active: false } : {};

/** A finalizer of someone else may keep the object for long: its credential must not stand there meanwhile. */
export function deletingStatus(record: CredentialRecord): DesiredStatus {
  const message = 'The object is being deleted.';
  return refusedStatus(record, { reason: reasons.deleting, message, final: false });
}

/**
 * Status of a credential that waits for the admission policies; undefined while what was confirmed before goes on
 * working. Nothing that was confirmed is taken back: it is right again as soon as the spec is what it was.
 */
export function admissionWait(record: CredentialRecord, now: number): DesiredStatus | undefined {
  if (stillValid(record, now)) return undefined;
  return {
    confirmation: { ...record.status, ...inactive(record) },
    ready: { status: 'False', ...admissionMissing },
    reconciling: admissionMissing,
  };
}

function stillValid({ status, fingerprints }: CredentialRecord, now: number): boolean {
  const { credentialHash, fingerprint, notAfter = Number.POSITIVE_INFINITY } = status;
  return (
    credentialHash !== undefined &&
    fingerprint !== undefined &&
    fingerprints.includes(fingerprint) &&
    now < notAfter
  );
}
