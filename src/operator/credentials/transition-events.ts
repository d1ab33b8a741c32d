import { type ConditionType, conditionTypes, findCondition } from '../../api/conditions.ts';
import { annotations } from '../../api/names.ts';
import { type Reason, reasons } from '../../api/reasons.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import type { TransitionEvent } from '../shared/events.ts';
import type { DesiredStatus } from './desired-status.ts';
import { secretKeyOf } from './secret-record.ts';

/** One event for each transition that the write from `record` to `desired` makes; none for anything else. */
export function transitionEvents(
  record: CredentialRecord,
  desired: DesiredStatus,
  successor: Reason = reasons.issued,
): TransitionEvent[] {
  const events: TransitionEvent[] = [];
  const { serial, credentialHash } = desired.confirmation;
  // A serial that was used up for nothing is no credential.
  const issued = serial > record.status.serial && credentialHash !== undefined;
  if (issued) events.push(normal(successor, 'Issue', issueNote(record, desired, successor)));
  else if (isConfirmation(record, desired))
    events.push(normal(reasons.confirmed, 'Confirm', 'The changed spec was confirmed.'));
  const change = readyChange(record, desired, issued);
  if (change !== undefined) events.push(change);
  if (desired.expiringSoon !== undefined && !has(record, conditionTypes.expiringSoon)) {
    events.push(warning(reasons.expiringSoon, 'Expire', desired.expiringSoon.message));
  }
  if (desired.rotationNotPossible !== undefined && !has(record, conditionTypes.rotationNotPossible)) {
    events.push(warning(reasons.rotationNotPossible, 'Rotate', desired.rotationNotPossible.message));
  }
  if (desired.scopeMatchesNothing !== undefined && !has(record, conditionTypes.scopeMatchesNothing)) {
    events.push(warning(reasons.scopeMatchesNothing, 'Match', desired.scopeMatchesNothing.message));
  }
  return events;
}

/** Without a serial where it may come again and again: then it is one event with a count. */
function issueNote(record: CredentialRecord, { confirmation }: DesiredStatus, successor: Reason): string {
  if (successor === reasons.secretReplaced)
    return `The Secret ${secretKeyOf(record)} was deleted or changed, so a new credential was issued into it. The former credential does not work any more.`;
  const why = whyIssued(record, successor);
  return `The credential with serial ${confirmation.serial} was issued${why === undefined ? '' : `, because ${why}`}.`;
}

/** The cause of a successor. Readers of its Secret see it too, so it names no one. Undefined for the first credential. */
function whyIssued(record: CredentialRecord, successor: Reason): string | undefined {
  switch (successor) {
    case reasons.rotated:
      return `the annotation ${annotations.rotate} has changed`;
    case reasons.renewed:
      return 'the one before was due for renewal';
    case reasons.chainChanged:
      return 'a key above has changed';
    case reasons.groupsAdded:
      return 'it may have groups that the one before had not';
    case reasons.signingKeyRevoked:
      return 'the key that signed the one before is not published any more';
    case reasons.targetChanged:
      return 'the address, the authority or the role of its target has changed';
    default:
      return whyIssuedAgain(record, successor);
  }
}

function whyIssuedAgain(record: CredentialRecord, successor: Reason): string | undefined {
  const { serial, credentialHash, fingerprint = '' } = record.status;
  if (serial === 0) return undefined;
  if (credentialHash === undefined) return 'there was none any more';
  if (record.specKey !== undefined) return 'spec.key holds another key';
  if (!record.fingerprints.includes(fingerprint)) return 'spec has changed';
  if (successor === reasons.confirmed) return 'its life has changed';
  const isTakenOut = record.secretRef === undefined && !record.holdsCredential;
  return isTakenOut ? 'the one before was taken out of status' : 'the one before is of an earlier release';
}

function isConfirmation(record: CredentialRecord, desired: DesiredStatus): boolean {
  const { fingerprint } = desired.confirmation;
  const before = record.status.fingerprint;
  // A refusal keeps the fingerprint that was confirmed before.
  if (fingerprint === undefined || before === undefined || fingerprint === before) return false;
  return !record.fingerprints.includes(before);
}

function readyChange(
  record: CredentialRecord,
  desired: DesiredStatus,
  issued: boolean,
): TransitionEvent | undefined {
  const before = findCondition(record.conditions, conditionTypes.ready);
  const { status, reason, message } = desired.ready;
  if (before?.status === status && before.reason === reason) return undefined;
  if (status === 'False') return warning(reason, 'Refuse', message);
  return issued || before?.status !== 'False'
    ? undefined
    : normal(reasons.enabled, 'Enable', 'The credential works again.');
}

const has = ({ conditions }: CredentialRecord, type: ConditionType): boolean =>
  findCondition(conditions, type)?.status === 'True';

const normal = (reason: Reason, action: string, note: string): TransitionEvent => ({
  type: 'Normal',
  reason,
  action,
  note,
});

const warning = (reason: Reason, action: string, note: string): TransitionEvent => ({
  type: 'Warning',
  reason,
  action,
  note,
});
