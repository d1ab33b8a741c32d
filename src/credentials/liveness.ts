import { defined } from '../api/json.ts';
import { type Reason, reasons } from '../api/reasons.ts';
import { type AccessKeyLookup, chainsOf, resolveAncestors } from './ancestors.ts';
import { compareFingerprint } from './fingerprint.ts';
import type { Identity } from './identity.ts';
import { endOfAccessKey, endOfIssued } from './life.ts';
import type { CredentialRecord, LiveRecord } from './record.ts';
import { resolveIdentity } from './resolve-identity.ts';

export interface LiveOptions {
  /** Milliseconds between two writes of `status.lastActivity`; an idle end is refused this much later. */
  readonly activityInterval: number;
  /** The last use of an access key (by UID) that this process saw itself, in epoch milliseconds. */
  readonly ownActivity?: (uid: string) => number | undefined;
}

export type Liveness<R extends LiveRecord = CredentialRecord> =
  | {
      readonly live: true;
      /** When it ends unless something changes, in epoch milliseconds: the earliest of its own end and its ancestors'. `Infinity`: never. */
      readonly end: number;
      readonly identity: Identity;
      /** Nearest first; the scope of each applies. */
      readonly ancestors: readonly R[];
    }
  | {
      readonly live: false;
      readonly reason: Reason;
      /** The ancestor that is not live, and why. */
      readonly accessKey?: string;
      readonly accessKeyReason?: Reason;
    };

/**
 * Whether a credential grants anything at `now`. The one answer that operator, gateway and tests share: only what the operator
 * confirmed in `status` counts, and whatever is missing or unreadable refuses. The caller answers for objects that are gone, and
 * compares the presented credential with `status.credentialHash` (or see `acceptsPrevious`).
 */
export function isLive<R extends LiveRecord>(
  record: NoInfer<R>,
  lookup: AccessKeyLookup<R>,
  now: number,
  options: LiveOptions,
): Liveness<R> {
  const own = stateOf(record, now, options);
  if ('reason' in own) return { live: false, reason: own.reason };
  const found = resolveAncestors(record, lookup);
  if ('reason' in found) return { live: false, reason: found.reason, accessKey: found.accessKey };
  let end = own.end;
  for (const ancestor of found.ancestors) {
    const state = stateOf(ancestor, now, options);
    if ('reason' in state) return deadAncestor(ancestor, state.reason);
    end = Math.min(end, state.end);
  }
  const result = resolveIdentity(record, found.ancestors);
  if ('refusal' in result) return { live: false, reason: result.refusal.reason };
  if (!chainHolds(record, found.ancestors)) return { live: false, reason: reasons.chainChanged };
  return { live: true, end, identity: result.identity, ancestors: found.ancestors };
}

/** Whether the predecessor of a planned renewal is still accepted. The record itself must be live as well. */
export function acceptsPrevious(record: LiveRecord, now: number): boolean {
  const { previous } = record.status;
  return previous !== undefined && now < previous.expirationTimestamp;
}

/** Whether the operator confirmed exactly this spec: fingerprint, credential and serial, and for a key in spec that very key. */
export function isConfirmed(record: LiveRecord): boolean {
  const { status, specKey } = record;
  if (record.uid === '' || status.credentialHash === undefined || status.serial < 1) return false;
  if (compareFingerprint(record.fingerprints, status.fingerprint) === 'different') return false;
  if (specKey !== undefined) return specKey.wellFormed && specKey.hash === status.credentialHash;
  return (
    record.kind !== 'OwnedAccessKey' || record.secretRef !== undefined || record.exchange?.trust !== undefined
  );
}

/** When a verifier refuses this credential, its ancestors left aside. `undefined`: never confirmed. */
export function endOf(record: LiveRecord, now: number, options: LiveOptions): number | undefined {
  if (record.kind !== 'OwnedAccessKey') return endOfIssued(record);
  const ownActivity = options.ownActivity?.(record.uid);
  return endOfAccessKey(record, now, {
    activityInterval: options.activityInterval,
    ...defined({ ownActivity }),
  });
}

function stateOf(
  record: LiveRecord,
  now: number,
  options: LiveOptions,
): { reason: Reason } | { end: number } {
  if (record.deleted !== undefined) return { reason: reasons.deleting };
  if (record.problem !== undefined) return { reason: record.problem.reason };
  const end = isConfirmed(record) ? endOf(record, now, options) : undefined;
  // Before `disabled`: the operator disables a key that has ended, and its holder needs another one, not the switch.
  if (end !== undefined && now >= end) return { reason: reasons.expired };
  if (record.disabled) return { reason: reasons.disabled };
  if (record.specKey?.wellFormed === false) return { reason: reasons.malformedKey };
  return end === undefined ? { reason: reasons.unconfirmed } : { end };
}

function deadAncestor(ancestor: LiveRecord, reason: Reason): Liveness<never> {
  return { live: false, reason: reasons.accessKeyNotLive, accessKey: ancestor.name, accessKeyReason: reason };
}

/** A token carries the scopes of its day. An access key does not: its parents are looked up at every use. */
export function chainHolds(record: LiveRecord, ancestors: readonly LiveRecord[]): boolean {
  if (record.kind === 'OwnedAccessKey') return true;
  const { chain } = record.status;
  return ancestors.length === 0
    ? chain === undefined
    : chain !== undefined && chainsOf(ancestors).includes(chain);
}
