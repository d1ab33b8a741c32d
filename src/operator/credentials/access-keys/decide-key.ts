import { conditionTypes, findCondition } from '../../../api/conditions.ts';
import { defined } from '../../../api/json.ts';
import { annotations, finalizers } from '../../../api/names.ts';
import { type Reason, reasons } from '../../../api/reasons.ts';
import { keyIDOf } from '../../../credentials/keys/credential-hash.ts';
import type { CredentialRecord } from '../../../credentials/record.ts';
import { quotaExceeded, refuse } from '../decision.ts';
import { type CredentialRefusal, secretRefusal } from '../desired-status.ts';
import { isUnguarded, type Lineage, lineageOf, parentGrace } from '../lineage.ts';
import { staleSecrets } from '../secret-record.ts';
import { secretState, secretUpdate } from '../secret-state.ts';
import { withConfirmedLife } from '../site-policy.ts';
import { scopeRecheck } from '../unmatched-scope.ts';
import { confirmedStatus, type KeyLife, keyLife } from './confirmed-status.ts';
import { findCredential, type KeyCredential, type MissingKey, rotationAsked } from './credential.ts';
import type { KeyInput, KeyStep } from './key-steps.ts';
import { unpinnedNames } from './namespace-pins.ts';

/** Decides the next step of an access key that is not being deleted. */
export const decideKey = (input: KeyInput): KeyStep => withConfirmedLife(input, decide);

function decide(input: KeyInput): KeyStep {
  const { record } = input;
  if (!record.finalizers.includes(finalizers.OwnedAccessKey)) return { step: 'addFinalizer' };
  if (record.holdsLoginSecrets) return { step: 'moveLoginSecrets' };
  // Before any refusal or wait: who makes a namespace of that name meanwhile must not be the one who was meant.
  const names = unpinnedNames(input);
  if (names.length > 0) return { step: 'pinNamespaces', names };
  const lineage = lineageOf(input);
  if (lineage.kind === 'blocked' && lineage.tooEarly)
    return { step: 'wait', requeueAt: input.now + parentGrace };
  const problem = keyRefusal(input, lineage);
  if (problem !== undefined) return refuse(input, problem);
  if (wantsToLive(input, lineage) && !input.hasRoom()) return refuse(input, quotaExceeded);
  if (lineage.kind === 'unreviewed') return { step: 'review', review: lineage.review };
  const credential = findCredential(input);
  // A refusal would take the present Secret away, for an authority that is known in a moment.
  if ('step' in credential && credential.step === 'writeSecret' && input.layout === 'pending')
    return { step: 'wait', requeueAt: input.now + parentGrace };
  return 'step' in credential ? make(input, lineage, credential) : commit(input, lineage, credential);
}

/** The Secret says from the first moment what the status is going to say. */
function make(input: KeyInput, lineage: Lineage, missing: MissingKey): KeyStep {
  if (missing.step === 'generateIntoSpec') return missing;
  const credential: KeyCredential = { hash: '', serial: missing.serial, source: 'Secret' };
  const desired = confirmedStatus(input, lineage, credential, keyLife(input, lineage));
  return { ...missing, state: secretState(desired) };
}

/** A confirmed key lives already; what has ended may live again by another `ttl`. */
function wantsToLive(input: KeyInput, lineage: Lineage): boolean {
  const { conditions, status } = input.record;
  if (status.credentialHash === undefined) return true;
  const ended = findCondition(conditions, conditionTypes.ready)?.reason === reasons.expired;
  return ended && !keyLife(input, lineage).expired;
}

function commit(input: KeyInput, lineage: Lineage, credential: KeyCredential): KeyStep {
  const { record, now } = input;
  const life = keyLife(input, lineage);
  if (life.expired && isToBeDeleted(record, life.end + retentionOf(input), now)) return { step: 'delete' };
  if (life.expired && !record.disabled && record.disabledOwner !== 'other') return { step: 'disable' };
  if (!life.expired && record.disabled && record.disabledOwner === 'operator') return { step: 'enable' };
  const requeueAt = nextCheck(input, life);
  const desired = confirmedStatus(input, lineage, credential, life);
  return {
    step: 'commit',
    desired,
    successor: successorReason(input, credential),
    ...(life.expired ? { endedAt: life.end } : {}),
    staleSecrets: staleSecrets(record, input.ownSecrets),
    secretUpdate: secretUpdate(input, desired),
    ...defined({ requeueAt }),
  };
}

function successorReason({ record, written }: KeyInput, { source }: KeyCredential): Reason {
  // A key that somebody supplies is no rotation, though the annotation may ask for one since long ago.
  if (rotationAsked(record) && source !== 'Plain' && source !== 'Hash') return reasons.rotated;
  const { credentialHash, fingerprint = '' } = record.status;
  const isReplaced = written !== undefined && credentialHash !== undefined;
  return isReplaced && record.fingerprints.includes(fingerprint) ? reasons.secretReplaced : reasons.issued;
}

/** Declared objects stay, so that Git and the cluster agree; what a login or a POST made goes. */
function isToBeDeleted(record: CredentialRecord, at: number, now: number): boolean {
  return (record.ephemeral || record.type === 'Login') && now >= at;
}

/** One that a pipeline got for its token ends with the job: there may be thousands, and their user has a bound. */
const retentionOf = ({ record, limits }: KeyInput): number =>
  record.exchangedUntil === undefined || record.accessKey === undefined ? limits.expiredRetention : 0;

function nextCheck(input: KeyInput, life: KeyLife): number | undefined {
  const { record, now, unmatchedScope } = input;
  const retained = record.ephemeral || record.type === 'Login' ? [life.end + retentionOf(input)] : [];
  const upcoming = [life.end, life.expiringSoonAt, ...scopeRecheck(unmatchedScope), ...retained].filter(
    (at) => Number.isFinite(at) && at > now,
  );
  return upcoming.length === 0 ? undefined : Math.min(...upcoming);
}

/** Why nothing may be confirmed for this key; undefined when nothing speaks against it. */
function keyRefusal(input: KeyInput, lineage: Lineage): CredentialRefusal | undefined {
  // The next leader waits for a condition that says this.
  if (lineage.kind === 'refused' && isUnguarded(input)) return lineage.problem;
  // The key first: a refused duplicate must not be forgotten because its parent is refused for a while.
  return (
    specKeyProblem(input) ??
    (lineage.kind === 'refused' ? lineage.problem : input.secretProblem && secretRefusal(input.secretProblem))
  );
}

function specKeyProblem({ record, claimants }: KeyInput): CredentialRefusal | undefined {
  const { specKey, status } = record;
  if (specKey === undefined)
    return record.isRestored && record.exchange !== undefined ? restored(record) : undefined;
  if (!specKey.wellFormed) {
    return { reason: reasons.malformedKey, message: malformed, final: true };
  }
  const { hash } = specKey;
  if (hash === status.credentialHash) return undefined;
  const before = refusalBefore(record, hash);
  if (before !== undefined) return duplicate(hash, before);
  const rivals = claimants(hash).filter((other) => other.uid !== record.uid && !isVoid(other, hash));
  if (rivals.length === 0) return record.isRestored ? restored(record) : undefined;
  const held = rivals.some((other) => holds(other, hash));
  return duplicate(hash, held ? messages.later : messages.simultaneous);
}

const restored = ({ name, exchange }: CredentialRecord): CredentialRefusal => ({
  reason: reasons.restoredCredential,
  message: `This object is a copy or comes from a backup, and its key may have been deleted or have ended since: ${exchange === undefined ? 'set another spec.key, or let this one' : 'make it new from its manifest, or let it'} work again: kubectl annotate oak/${name} ${annotations.origin}-`,
  final: true,
});

const malformed =
  'spec.key is not usable: it needs 20 to 512 characters of A-Z a-z 0-9 . _ ~ + / = -, or sha256: and 64 hexadecimal digits. A key that begins with lk_ must be whole, lk_ and 49 letters and digits with a checksum in them: copy it again, or leave spec.key out to have one made.';

/**
 * A refused claim stays refused after the first owner is gone: a person who saw a hash in Git must not inherit the key.
 * Returns the message of its condition, or undefined.
 */
function refusalBefore({ conditions, status }: CredentialRecord, hash: string): string | undefined {
  if (status.keyID !== keyIDOf(hash)) return undefined;
  const ready = findCondition(conditions, conditionTypes.ready);
  return ready?.reason === reasons.duplicateKey ? ready.message : undefined;
}

/** The predecessor of a renewed token is valid for a while. */
const holds = ({ status }: CredentialRecord, hash: string): boolean =>
  status.credentialHash === hash || status.previous?.credentialHash === hash;

/**
 * A claim to what another credential held can never be granted, so it is none against others: putting the hash of a stranger
 * into a key of your own must not keep the stranger from creating theirs again. Of claims that came together none is
 * known to be the right one, so each goes on to stand against all.
 */
const isVoid = (claimant: CredentialRecord, hash: string): boolean =>
  !holds(claimant, hash) && refusalBefore(claimant, hash) === messages.later;

const messages = {
  later: 'Another credential has the same key: set another spec.key here.',
  simultaneous:
    'Other OwnedAccessKeys came with the same key, and no one knows whose it is: set another spec.key here.',
} as const;

const duplicate = (hash: string, message: string): CredentialRefusal => ({
  reason: reasons.duplicateKey,
  message,
  final: true,
  keyID: keyIDOf(hash),
});
