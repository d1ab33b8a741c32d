import { conditionTypes, findCondition } from '../../api/conditions.ts';
import { credentialKinds } from '../../api/credential-kinds.ts';
import { formatTimestamp } from '../../api/instant.ts';
import { defined, isObject } from '../../api/json.ts';
import { reasons } from '../../api/reasons.ts';
import type { Confirmation, CredentialRecord, PreviousCredential } from '../../credentials/record.ts';
import { scopeSummary } from '../../scope/gate/scope-summary.ts';
import { conditionsPatch, type DesiredConditions } from '../shared/conditions.ts';
import { stateOf } from '../shared/state.ts';
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
    ...scopeChange(record, desired),
    ...credentialChange(record, desired),
    ...conditionsPatch(observedOf(record), conditionsOf(desired), now),
  };
  return Object.keys(patch).length === 0 ? undefined : patch;
}

/** Fields that an object of an earlier release has not: none of it changes what the credential grants. */
const described: readonly string[] = [
  ...['keyID', 'signingKeyID', 'subject', 'audiences', 'requester'],
  ...['scope', 'state'],
];

/**
 * True when the write would do no more than add what an earlier release did not write for people, or say that a scope matches
 * nothing, or does again: one project may be in the scopes of thousands.
 */
export function onlyDescribes(record: CredentialRecord, desired: DesiredStatus, now: number): boolean {
  // Most reconciles write nothing at all, and end here.
  if (isDescribed(record, desired)) return false;
  const patch = statusPatch(record, desired, now);
  return patch !== undefined && (onlyAddsWords(patch) || onlyTellsOfScope(record, desired, now));
}

/**
 * True when the write would say that a lock stops the credential, or stops it no more, and everything that verifiers go by stays. A
 * certificate does not wait: no one asks about locks for it.
 */
export function isLockMessageOnly(
  { kubeConfig, conditions, status, observedGeneration, generation }: CredentialRecord,
  { ready, confirmation }: DesiredStatus,
): boolean {
  const before = findCondition(conditions, conditionTypes.ready);
  const both = [before?.reason, ready.reason];
  return (
    both.includes(reasons.locked) &&
    both.every((reason) => reason === reasons.locked || reason === reasons.issued) &&
    before?.message !== ready.message &&
    kubeConfig?.clientCert !== true &&
    observedGeneration === generation &&
    status.credentialHash !== undefined &&
    status.credentialHash === confirmation.credentialHash &&
    status.fingerprint === confirmation.fingerprint
  );
}

function isDescribed(record: CredentialRecord, desired: DesiredStatus): boolean {
  const { keyID, subject, audiences, requester, scope, state } = record.status;
  const { confirmation, scopeMatchesNothing } = desired;
  return (
    keyID === confirmation.keyID &&
    subject === confirmation.subject &&
    requester === confirmation.requester &&
    (audiences === undefined) === (confirmation.audiences === undefined) &&
    state === stateOf(conditionsOf(desired)) &&
    scope === scopeOf(record, desired) &&
    (scopeMatchesNothing === undefined) === (toldOfScope(record) === undefined)
  );
}

const onlyAddsWords = (patch: StatusFields): boolean =>
  Object.keys(patch).every((field) => described.includes(field));

const toldOfScope = ({ conditions }: CredentialRecord) =>
  findCondition(conditions, conditionTypes.scopeMatchesNothing);

function onlyTellsOfScope(record: CredentialRecord, desired: DesiredStatus, now: number): boolean {
  const { scopeMatchesNothing: wanted, ...others } = desired;
  const present = toldOfScope(record);
  if ((present === undefined) === (wanted === undefined)) return false;
  const { message = '' } = present ?? {};
  const said = present && { scopeMatchesNothing: { reason: reasons.scopeMatchesNothing, message } };
  return onlyAddsWords(statusPatch(record, { ...others, ...said }, now) ?? {});
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
const ofFormer = { keyID: null, signingKeyID: null, issuedAt: null, tokenID: null };

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
    tokenID: tokenIDOf(fields),
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
    clusterUID: fields.clusterUID,
    boundSerials: fields.boundSerials,
    criticalScopes: fields.criticalScopes,
    allowedNamespaces: fields.allowedNamespaces,
    previous: previous && writtenPrevious(previous),
  };
}

function writtenPrevious({ tokenIDHash, ...previous }: PreviousCredential): StatusFields {
  const { serial } = previous;
  return {
    ...previous,
    expirationTimestamp: formatTimestamp(previous.expirationTimestamp),
    ...defined({
      issuedAt: formatTimestamp(previous.issuedAt),
      tokenID: tokenIDOf({ tokenIDHash, serial }),
    }),
  };
}

/** With its serial: an operator of an earlier release leaves it behind when it issues the next token. */
const tokenIDOf = ({ serial, tokenIDHash: hash }: TokenID) =>
  hash === undefined ? undefined : { serial, hash };

interface TokenID {
  readonly serial: number;
  readonly tokenIDHash?: string | undefined;
}

function credentialChange(record: CredentialRecord, desired: DesiredStatus): StatusFields {
  const { statusField: field } = credentialKinds[record.kind];
  if (field === undefined || desired.credential === undefined) return {};
  if (desired.credential === null && !record.holdsCredential) return {};
  return { [field]: desired.credential };
}

/** A kubeconfig is good for its instance alone, which its spec names. */
const scopeOf = (record: CredentialRecord, { confirmation }: DesiredStatus): string | undefined =>
  record.kind === 'VirtualClusterInstanceKubeConfig'
    ? undefined
    : scopeSummary(record, confirmation.audiences);

function scopeChange(record: CredentialRecord, desired: DesiredStatus): StatusFields {
  const scope = scopeOf(record, desired);
  return record.status.scope === scope ? {} : { scope: scope ?? null };
}

const observedOf = ({ generation, observedGeneration, conditions, status }: CredentialRecord) => ({
  ...{ generation, observedGeneration, conditions },
  ...defined({ state: status.state }),
});

const conditionsOf = (desired: DesiredStatus): DesiredConditions => ({
  ready: desired.ready,
  others: [
    [conditionTypes.reconciling, desired.reconciling],
    [conditionTypes.stalled, desired.stalled],
    [conditionTypes.expiringSoon, desired.expiringSoon],
    [conditionTypes.rotationNotPossible, desired.rotationNotPossible],
    [conditionTypes.scopeMatchesNothing, desired.scopeMatchesNothing],
  ],
});
