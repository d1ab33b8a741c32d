import { type Condition, type ConditionType, conditionTypes } from '../../api/conditions.ts';
import type { Confirmation, CredentialRecord } from '../../credentials/record.ts';
import type { DesiredCondition, DesiredStatus } from './desired-status.ts';
import { timestampOf } from './timestamp.ts';

type StatusFields = Record<string, unknown>;

/** The field of status in which each kind keeps the credential itself. */
const credentialFields = {
  OwnedAccessKey: undefined,
  DirectClusterEndpointToken: 'token',
  VirtualClusterInstanceKubeConfig: 'kubeConfig',
} as const;

/**
 * The merge patch of `status` that takes `record` to `desired`, or undefined when it says all of it already:
 * a write without a change would wake every watcher for nothing.
 */
export function statusPatch(
  record: CredentialRecord,
  desired: DesiredStatus,
  now: number,
): StatusFields | undefined {
  const conditions = desiredConditions(record, desired, now);
  const patch: StatusFields = {
    ...changedFields(record.status, desired.confirmation),
    ...credentialChange(record, desired),
  };
  if (!sameConditions(record.conditions, conditions)) patch.conditions = conditions;
  if (record.observedGeneration !== record.generation) patch.observedGeneration = record.generation;
  return Object.keys(patch).length === 0 ? undefined : patch;
}

function changedFields(present: Confirmation, wanted: Confirmation): StatusFields {
  const from = writtenFields(present);
  const to = writtenFields(wanted);
  const changes: StatusFields = {};
  for (const name of Object.keys(to)) {
    if (JSON.stringify(from[name]) !== JSON.stringify(to[name])) changes[name] = to[name] ?? null;
  }
  return changes;
}

function writtenFields(confirmation: Confirmation): StatusFields {
  const { lastActivity: _ofTheGateway, previous, ...fields } = confirmation;
  return {
    credentialHash: fields.credentialHash,
    fingerprint: fields.fingerprint,
    serial: fields.serial === 0 ? undefined : fields.serial,
    notAfter: timestampOf(fields.notAfter),
    issuedAt: timestampOf(fields.issuedAt),
    confirmedTTL: fields.confirmedTTL,
    accessKeyUID: fields.accessKeyUID,
    chain: fields.chain,
    keyID: fields.keyID,
    keySource: fields.keySource,
    observedRotation: fields.observedRotation,
    disabledByExpiry: fields.disabledByExpiry,
    active: fields.active,
    expirationTimestamp: timestampOf(fields.expirationTimestamp),
    previous: previous && { ...previous, expirationTimestamp: timestampOf(previous.expirationTimestamp) },
  };
}

function credentialChange(record: CredentialRecord, desired: DesiredStatus): StatusFields {
  const field = credentialFields[record.kind];
  if (field === undefined || desired.credential === undefined) return {};
  if (desired.credential === null && !record.holdsCredential) return {};
  return { [field]: desired.credential };
}

function desiredConditions(record: CredentialRecord, desired: DesiredStatus, now: number): Condition[] {
  const asserted: [ConditionType, DesiredCondition | undefined][] = [
    [conditionTypes.reconciling, desired.reconciling],
    [conditionTypes.stalled, desired.stalled],
    [conditionTypes.expiringSoon, desired.expiringSoon],
    [conditionTypes.rotationNotPossible, desired.rotationNotPossible],
  ];
  const wanted = asserted.flatMap(([type, condition]) =>
    condition === undefined ? [] : [{ ...condition, type, status: 'True' as const }],
  );
  return [{ type: conditionTypes.ready, ...desired.ready }, ...wanted].map((condition) =>
    complete(record, condition, now),
  );
}

type WantedCondition = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

function complete(record: CredentialRecord, wanted: WantedCondition, now: number): Condition {
  const { type, status, reason, message } = wanted;
  const present = record.conditions.find((condition) => condition.type === type);
  const lastTransitionTime = present?.status === status ? present.lastTransitionTime : timestampOf(now);
  return { type, status, reason, message, observedGeneration: record.generation, lastTransitionTime };
}

function sameConditions(present: readonly Condition[], wanted: readonly Condition[]): boolean {
  return (
    present.length === wanted.length &&
    wanted.every((condition) => present.some((other) => same(other, condition)))
  );
}

function same(left: Condition, right: Condition): boolean {
  return (
    left.type === right.type &&
    left.status === right.status &&
    left.reason === right.reason &&
    left.message === right.message &&
    left.observedGeneration === right.observedGeneration
  );
}
