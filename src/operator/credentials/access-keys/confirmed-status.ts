import { formatTimestamp } from '../../../api/instant.ts';
import { defined } from '../../../api/json.ts';
import { reasons } from '../../../api/reasons.ts';
import { keyIDOf } from '../../../credentials/keys/credential-hash.ts';
import {
  type ConfirmedLife,
  expiringSoonAt,
  lifeOfAccessKey,
  operatorEndOfAccessKey,
} from '../../../credentials/life.ts';
import type { Confirmation, CredentialRecord } from '../../../credentials/record.ts';
import { type DesiredStatus, disabledByExpiryOf, requesterOf, subjectOf } from '../desired-status.ts';
import { confirmedGroupsOf, type Lineage } from '../lineage.ts';
import { scopeCondition } from '../unmatched-scope.ts';
import { type KeyCredential, rotationAsked } from './credential.ts';
import type { KeyInput } from './key-steps.ts';
import { pinsOf } from './namespace-pins.ts';

/** The life of an access key as the operator sees it; epoch milliseconds, `Infinity` for no end. */
export interface KeyLife {
  /** When the operator acts. */
  readonly end: number;
  readonly expired: boolean;
  readonly confirmed: ConfirmedLife;
  /** The end that people are shown: that of the key or of a parent, whichever is earlier. */
  readonly expires: number;
  readonly expiringSoonAt: number;
}

export function keyLife({ record, now, limits }: KeyInput, lineage: Lineage): KeyLife {
  const end = operatorEndOfAccessKey(record, now, limits);
  const shown = operatorEndOfAccessKey(record, now, { activityInterval: 0 });
  const expires = Math.min(shown, lineage.kind === 'live' ? lineage.end : Number.POSITIVE_INFINITY);
  const start = record.ttlAfterLastActivity ? (record.status.lastActivity ?? record.created) : record.created;
  return {
    end,
    expired: now >= end,
    confirmed: lifeOfAccessKey(record),
    expires,
    expiringSoonAt: Number.isFinite(expires) ? expiringSoonAt(start, expires) : Number.POSITIVE_INFINITY,
  };
}

/** Status of a key whose present spec and credential are confirmed. */
export function confirmedStatus(
  input: KeyInput,
  lineage: Lineage,
  credential: KeyCredential,
  life: KeyLife,
): DesiredStatus {
  const { record, now } = input;
  const ready = readyOf(record, lineage, life);
  const { reason, message } = ready;
  // Neither passes by itself, and who waits for a disabled key would wait until the time is over.
  const isFinal = reason === reasons.expired || reason === reasons.disabled;
  const stalled = isFinal ? { stalled: { reason, message } } : {};
  return {
    confirmation: {
      ...confirmationOf(record, lineage, credential, life),
      ...allowedNamespacesOf(record),
      active: ready.status === 'True',
    },
    ready,
    ...stalled,
    ...(ready.status === 'True' && now >= life.expiringSoonAt ? { expiringSoon: expiringSoon(life) } : {}),
    ...(refusesRotation(record, credential) ? { rotationNotPossible: whyNotRotated(credential) } : {}),
    ...(life.expired ? {} : scopeCondition(input.unmatchedScope, now)),
  };
}

function allowedNamespacesOf(record: CredentialRecord): Partial<Confirmation> {
  const allowedNamespaces = pinsOf(record);
  return allowedNamespaces.length === 0 ? {} : { allowedNamespaces };
}

function confirmationOf(
  record: CredentialRecord,
  lineage: Lineage,
  { hash, serial, source }: KeyCredential,
  life: KeyLife,
): Confirmation {
  const { status } = record;
  const { confirmed } = life;
  const expires = shownEnd(record, life);
  const issuedNow = hash !== status.credentialHash;
  const observedRotation = issuedNow ? record.rotate : status.observedRotation;
  const parent = 'ancestors' in lineage ? lineage.ancestors[0] : undefined;
  const disabledByExpiry = disabledByExpiryOf(record);
  const [fingerprint] = record.fingerprints;
  return {
    credentialHash: hash,
    serial,
    confirmedTTL: confirmed.confirmedTTL,
    keyID: keyIDOf(hash),
    ...subjectOf(record, lineage.kind === 'live' ? lineage.identity : undefined),
    keySource: source,
    ...requesterOf(record),
    ...confirmedGroupsOf(record, lineage.kind === 'live' ? lineage.identity : undefined),
    ...(Number.isFinite(expires) ? { expirationTimestamp: expires } : {}),
    ...defined({
      fingerprint,
      notAfter: confirmed.notAfter,
      accessKeyUID: parent?.uid,
      observedRotation,
      disabledByExpiry,
    }),
  };
}

/**
 * The end of an idle key moves with every use. It is shown again only after a tenth of `ttl`, or each record of an
 * activity would cost a second write.
 */
function shownEnd({ status, ttl = 0, ttlAfterLastActivity }: CredentialRecord, { expires }: KeyLife): number {
  const shown = status.expirationTimestamp;
  if (!ttlAfterLastActivity || shown === undefined) return expires;
  return Math.abs(expires - shown) < ttl * 100 ? shown : expires;
}

function readyOf(record: CredentialRecord, lineage: Lineage, life: KeyLife): DesiredStatus['ready'] {
  if (life.expired)
    return {
      status: 'False',
      reason: reasons.expired,
      message: 'The life of the key has ended: raise spec.ttl, or make another.',
    };
  if (record.disabled)
    return { status: 'False', reason: reasons.disabled, message: 'The key is disabled by spec.disabled.' };
  if (lineage.kind === 'blocked')
    return { status: 'False', reason: lineage.reason, message: lineage.message };
  if (lineage.kind === 'live' && lineage.lock !== undefined) return { status: 'False', ...lineage.lock };
  return { status: 'True', reason: reasons.issued, message: 'The key is confirmed and works.' };
}

const expiringSoon = ({ expires }: KeyLife) => ({
  reason: reasons.expiringSoon,
  message: `The key ends at ${formatTimestamp(expires)}.`,
});

const whyNotRotated = ({ source }: KeyCredential) => ({
  reason: reasons.rotationNotPossible,
  message:
    source === 'Exchange'
      ? 'The key has no secret, because of spec.exchange: disable it, and what was exchanged ends.'
      : 'The key in spec.key was supplied, so Latchkey cannot replace it: set another spec.key.',
});

/** The annotation stays unobserved on a supplied key, so that the condition stays for as long as it is true. */
function refusesRotation(record: CredentialRecord, { hash, source }: KeyCredential): boolean {
  return (
    rotationAsked(record) &&
    record.status.credentialHash === hash &&
    source !== 'Generated' &&
    source !== 'Secret'
  );
}
