import { hash } from 'node:crypto';
import type { SpecKey } from '../../../credentials/keys/spec-key.ts';
import type { CredentialRecord, KeySource } from '../../../credentials/record.ts';
import { isIntact } from '../secret-record.ts';
import type { KeyInput } from './key-steps.ts';

/** The credential that the status is to confirm. */
export interface KeyCredential {
  readonly hash: string;
  readonly serial: number;
  readonly source: KeySource;
}

/** Where a key is to be made. */
export type MissingKey =
  | { readonly step: 'generateIntoSpec' }
  | { readonly step: 'writeSecret'; readonly serial: number };

/** Finds the credential that spec or Secret hold, or where one is to be made. */
export function findCredential(input: KeyInput): KeyCredential | MissingKey {
  const { record } = input;
  if (record.specKey !== undefined) return fromSpec(record, record.specKey);
  if (record.secretRef !== undefined) return fromSecret(input);
  return record.exchange === undefined ? { step: 'generateIntoSpec' } : withoutKey(record);
}

/**
 * Where only tokens are exchanged, there is no key, and nothing to leak. No text is known that has this hash: it comes of another
 * function than those of keys.
 */
function withoutKey({ uid, status }: CredentialRecord): KeyCredential {
  const none = hash('sha384', `exchange ${uid}`, 'hex').slice(0, 64);
  const isKnown = status.credentialHash === none;
  return { hash: none, serial: isKnown ? status.serial : status.serial + 1, source: 'Exchange' };
}

/** Only a key that Latchkey made can be replaced by one that Latchkey makes. */
export function rotationAsked({ rotate, status }: CredentialRecord): boolean {
  return rotate !== undefined && status.credentialHash !== undefined && rotate !== status.observedRotation;
}

function fromSpec(record: CredentialRecord, specKey: SpecKey): KeyCredential | MissingKey {
  const { status } = record;
  const known = specKey.hash === status.credentialHash;
  const source = sourceOf(record, specKey, known);
  if (known && source === 'Generated' && rotationAsked(record)) return { step: 'generateIntoSpec' };
  return { hash: specKey.hash, serial: known ? status.serial : status.serial + 1, source };
}

function sourceOf(record: CredentialRecord, { form }: SpecKey, known: boolean): KeySource {
  if (form === 'Hash') return 'Hash';
  return record.keyWrittenByOperator || (known && record.status.keySource === 'Generated')
    ? 'Generated'
    : 'Plain';
}

/**
 * A Secret that was lost or altered is made again, and so is one that a crash left unconfirmed: its content could come
 * from anyone, and taking it over would let a person who may create Secrets choose the key (docs/decisions/0002).
 */
function fromSecret(input: KeyInput): KeyCredential | MissingKey {
  const { record, written } = input;
  if (written !== undefined) return { ...written, source: 'Secret' };
  const { credentialHash, serial } = record.status;
  if (!isIntact(record, input.secret) || credentialHash === undefined || rotationAsked(record)) {
    return { step: 'writeSecret', serial: serial + 1 };
  }
  return { hash: credentialHash, serial, source: 'Secret' };
}
