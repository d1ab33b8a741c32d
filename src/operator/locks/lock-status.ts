import { conditionTypes, findCondition } from '../../api/conditions.ts';
import { formatTimestamp } from '../../api/instant.ts';
import { defined } from '../../api/json.ts';
import { reasons } from '../../api/reasons.ts';
import { isInForce, type LockRecord, type SelectorName } from '../../credentials/locks/lock-record.ts';
import { conditionsPatch, type DesiredReady } from '../shared/conditions.ts';
import type { TransitionEvent } from '../shared/events.ts';

interface DesiredLockStatus {
  readonly ready: DesiredReady;
  readonly stops: string;
  /** Absent: it was not counted yet. */
  readonly stoppedCredentials?: number;
  /** Epoch milliseconds. Absent once it has ended. */
  readonly inForceSince?: number;
}

/** The status that a lock should have. `count`: undefined before all credentials were compared with it. */
export function lockStatus(record: LockRecord, count: number | undefined, now: number): DesiredLockStatus {
  const stops = describeLock(record);
  if (!isInForce(record, now)) return { ready: ended, stops, stoppedCredentials: 0 };
  const inForceSince = record.status.inForceSince ?? now;
  return { ready: inForceOf(record, now), stops, inForceSince, ...defined({ stoppedCredentials: count }) };
}

const inForce: DesiredReady = {
  status: 'True',
  reason: reasons.inForce,
  message: 'The operator obeys the lock, and so does every gateway that is ready.',
};

const stopsAll =
  'It stops every credential of the platform that is older, those of administrators too. A kubeconfig of the API server still works: delete the lock with it.';
const stopsNew = ' Until then it stops every new one as well.';

/** Nothing else says to who made it by mistake that one lock can stop a platform. */
function inForceOf({ selector, issuedBefore = 0 }: LockRecord, now: number): DesiredReady {
  if (selector !== 'all') return inForce;
  const message = `${inForce.message} ${stopsAll}${now < issuedBefore ? stopsNew : ''}`;
  return { ...inForce, message };
}

const ended: DesiredReady = {
  status: 'False',
  reason: reasons.expired,
  message: 'The lock has ended and stops nothing: delete it, or move spec.expirationTimestamp.',
};

/** Words for people about what a lock stops. */
export function describeLock({ selector, value, keyUID, subject, issuedBefore }: LockRecord): string {
  const what = words[selector](value);
  const parts = [
    what,
    ...(keyUID === undefined ? [] : [`with the UID ${keyUID}`]),
    ...(subject === undefined ? [] : [`with the subject ${subject}`]),
    ...(issuedBefore === undefined ? [] : [`issued before ${formatTimestamp(finite(issuedBefore))}`]),
  ];
  return parts.join(' ');
}

const words: Readonly<Record<SelectorName, (value: string) => string>> = {
  user: (value) => `user ${value}`,
  group: (value) => `group ${value}`,
  requester: (value) => `requester ${value}`,
  accessKey: (value) => `access key ${value}`,
  credentialHash: (value) => `hash ${value.slice(0, 16)}`,
  issuer: (value) => `exchanged tokens of ${value}`,
  signingKeyID: (value) => `signing key ${value}`,
  all: () => 'everything',
};

const finite = (instant: number): number => Math.min(instant, Date.UTC(9999, 11, 31));

/** The merge patch of `status`; undefined when nothing differs. */
export function lockStatusPatch(
  record: LockRecord,
  { ready, stops, stoppedCredentials, inForceSince }: DesiredLockStatus,
  now: number,
): Record<string, unknown> | undefined {
  const present = record.status;
  const { reason, message } = ready;
  const stalled = ready.status === 'True' ? undefined : { reason, message };
  const isCounted = stoppedCredentials !== undefined && stoppedCredentials !== present.stoppedCredentials;
  const patch = {
    ...(present.stops === stops ? {} : { stops }),
    ...(isCounted ? { stoppedCredentials } : {}),
    ...(present.inForceSince === inForceSince ? {} : { inForceSince: formatTimestamp(inForceSince) ?? null }),
    ...conditionsPatch(observedOf(record), { ready, others: [[conditionTypes.stalled, stalled]] }, now),
  };
  return Object.keys(patch).length === 0 ? undefined : patch;
}

const observedOf = ({ generation, observedGeneration, conditions, state }: LockRecord) => ({
  ...{ generation, observedGeneration, conditions },
  ...defined({ state }),
});

export function lockTransitions(
  { conditions, selector }: LockRecord,
  { ready, stops }: DesiredLockStatus,
): readonly TransitionEvent[] {
  const before = findCondition(conditions, conditionTypes.ready);
  if (before?.status === ready.status && before.reason === ready.reason) return [];
  if (ready.status !== 'True')
    return [{ type: 'Warning', reason: reasons.expired, action: 'Refuse', note: ready.message }];
  const common = { reason: reasons.inForce, action: 'Lock' } as const;
  return selector === 'all'
    ? [{ ...common, type: 'Warning', note: `The lock stops ${stops}. ${stopsAll}` }]
    : [{ ...common, type: 'Normal', note: `The lock stops ${stops}.` }];
}
