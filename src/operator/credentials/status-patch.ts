import { conditionTypes, findCondition } from '../../api/conditions.ts';
import { credentialKinds } from '../../api/credential-kinds.ts';
import { formatTimestamp } from '../../api/instant.ts';
import { isObject } from '../../api/json.ts';
import { reasons } from '../../api/reasons.ts';
import type { Confirmation, CredentialRecord } from '../../credentials/record.ts';
import { conditionsPatch } from '../shared/conditions.ts';
import type { DesiredStatus } from './desired-status.ts';

type StatusFields = Record<string, unknown>;

/**
 * The merge patch of `status` that takes `record` to `desired`, or undefined when it says all of it already:
 * a write without a change would notify every watcher for nothing.
 */
export function statusPatch(
  record: CredentialRecord,
  desired: DesiredStatus,
  now: number,
): StatusFields | undefined {
  const patch: StatusFields = {
    ...changedFields(record.status, desired.confirmation),
    ...credentialChange(record, desired),
    ...conditionsPatch(record, { ready: desired.ready, others: otherConditions(desired) }, now),
  };
  return Object.keys(patch).length === 0 ? undefined : patch;
}

/** What an earlier release has not: none of it changes what the credential grants. */
const described: readonly string[] = ['keyID', 'signingKeyID', 'subject', 'audiences', 'requester'];

/**
 * True when the write would do no more than add what an earlier release did not write for people, or say that a scope matches
 * nothing, or does again: one project may be in the scopes of thousands.
 */
export function onlyDescribes(record: CredentialRecord, desired: DesiredStatus, now: number): boolean {
  // Most reconciles write nothing at all, and end here.
  const { keyID, subject, audiences, requester } = record.status;
  const { confirmation } = desired;
  const isSame =
    keyID === confirmation.keyID &&
    subject === confirmation.subject &&
    requester === confirmation.requester &&
    (audiences === undefined) === (confirmation.audiences === undefined);
  if (isSame) return onlyTellsOfScope(record, desired, now);
  const patch = statusPatch(record, desired, now) ?? {};
  return Object.keys(patch).every((field) => described.includes(field));
}

function onlyTellsOfScope(record: CredentialRecord, desired: DesiredStatus, now: number): boolean {
  const { scopeMatchesNothing: wanted, ...others } = desired;
  const present = findCondition(record.conditions, conditionTypes.scopeMatchesNothing);
  if ((present === undefined) === (wanted === undefined)) return false;
  const { message = '' } = present ?? {};
  const said = present && { scopeMatchesNothing: { reason: reasons.scopeMatchesNothing, message } };
  return statusPatch(record, { ...others, ...said }, now) === undefined;
}

function changedFields(present: Confirmation, wanted: Confirmation): StatusFields {
  const from = writtenFields(present);
  const to = writtenFields(wanted);
  const changes: StatusFields = {};
  for (const name of Object.keys(to)) {
    if (JSON.stringify(from[name]) !== JSON.stringify(to[name])) changes[name] = to[name] ?? null;
  }
  const { previous } = changes;
  const isReplaced = present.previous !== undefined && isObject(previous);
  return isReplaced ? { ...changes, previous: { ...ofFormer, ...previous } } : changes;
}

/** A merge patch leaves what it does not name: it would say of the new predecessor by which key the former one was signed. */
const ofFormer = { keyID: null, signingKeyID: null };

function writtenFields(confirmation: Confirmation): StatusFields {
  const { lastActivity: _ofTheGateway, previous, ...fields } = confirmation;
  return {
    credentialHash: fields.credentialHash,
    fingerprint: fields.fingerprint,
    serial: fields.serial === 0 ? undefined : fields.serial,
    notAfter: formatTimestamp(fields.notAfter),
    issuedAt: formatTimestamp(fields.issuedAt),
    confirmedTTL: fields.confirmedTTL,
    accessKeyUID: fields.accessKeyUID,
    chain: fields.chain,
    confirmedGroups: fields.confirmedGroups,
    keyID: fields.keyID,
    signingKeyID: fields.signingKeyID,
    subject: fields.subject,
    audiences: fields.audiences,
    keySource: fields.keySource,
    requester: fields.requester,
    observedRotation: fields.observedRotation,
    disabledByExpiry: fields.disabledByExpiry,
    active: fields.active,
    expirationTimestamp: formatTimestamp(fields.expirationTimestamp),
    auth: fields.auth,
    documentHash: fields.documentHash,
    targetHash: fields.targetHash,
    virtualClusterInstanceUID: fields.instanceUID,
    boundSerials: fields.boundSerials,
    criticalScopes: fields.criticalScopes,
    allowedNamespaces: fields.allowedNamespaces,
    previous: previous && { ...previous, expirationTimestamp: formatTimestamp(previous.expirationTimestamp) },
  };
}

function credentialChange(record: CredentialRecord, desired: DesiredStatus): StatusFields {
  const { statusField: field } = credentialKinds[record.kind];
  if (field === undefined || desired.credential === undefined) return {};
  if (desired.credential === null && !record.holdsCredential) return {};
  return { [field]: desired.credential };
}

const otherConditions = (desired: DesiredStatus) =>
  [
    [conditionTypes.reconciling, desired.reconciling],
    [conditionTypes.stalled, desired.stalled],
    [conditionTypes.expiringSoon, desired.expiringSoon],
    [conditionTypes.rotationNotPossible, desired.rotationNotPossible],
    [conditionTypes.scopeMatchesNothing, desired.scopeMatchesNothing],
  ] as const;
