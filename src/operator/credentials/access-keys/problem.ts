import { conditionTypes } from '../../../api/conditions.ts';
import { reasons } from '../../../api/reasons.ts';
import { keyIDOf } from '../../../credentials/keys/credential-hash.ts';
import type { CredentialRecord } from '../../../credentials/record.ts';
import type { Lineage } from '../lineage.ts';
import type { RefusedFor } from '../refused-status.ts';
import type { KeyInput } from './input.ts';

/** Why nothing may be confirmed for this key; undefined when nothing speaks against it. */
export function problemOf(input: KeyInput, lineage: Lineage): RefusedFor | undefined {
  // The key first: a refused duplicate must not be forgotten because its parent is refused for a while.
  return keyProblem(input) ?? (lineage.kind === 'refused' ? lineage.problem : secretProblem(input));
}

function keyProblem({ record, claimants }: KeyInput): RefusedFor | undefined {
  const { specKey, status } = record;
  if (specKey === undefined) return undefined;
  if (!specKey.wellFormed) {
    return { reason: reasons.malformedKey, message: malformed, final: true };
  }
  const { hash } = specKey;
  if (hash === status.credentialHash) return undefined;
  const before = refusalBefore(record, hash);
  if (before !== undefined) return duplicate(hash, before);
  const rivals = claimants(hash).filter((other) => other.uid !== record.uid && !isVoid(other, hash));
  if (rivals.length === 0) return undefined;
  const held = rivals.some((other) => other.status.credentialHash === hash);
  return duplicate(hash, held ? messages.later : messages.simultaneous);
}

const malformed =
  'spec.key is not usable: it needs 20 to 512 characters of A-Z a-z 0-9 . _ ~ + / = -, or sha256: and 64 hexadecimal digits; where it begins with lk_, a character was mistyped or lost.';

/**
 * A refused claim stays refused after the first owner is gone: whoever saw a hash in Git must not inherit the key.
 * What it was told, or undefined.
 */
function refusalBefore({ conditions, status }: CredentialRecord, hash: string): string | undefined {
  if (status.keyID !== keyIDOf(hash)) return undefined;
  return conditions.find(
    ({ type, reason }) => type === conditionTypes.ready && reason === reasons.duplicateKey,
  )?.message;
}

/**
 * A claim to what another key held can never be granted, so it is none against others: whoever puts the hash of a
 * stranger into a key of his own must not keep the stranger from creating his key again. Of claims that came together
 * none is known to be the right one, so each goes on to stand against all.
 */
const isVoid = (claimant: CredentialRecord, hash: string): boolean =>
  claimant.status.credentialHash !== hash && refusalBefore(claimant, hash) === messages.later;

const messages = {
  later: 'Another OwnedAccessKey has the same key: set another spec.key here.',
  simultaneous:
    'Other OwnedAccessKeys came with the same key, and nobody knows whose it is: set another spec.key here.',
} as const;

const duplicate = (hash: string, message: string): RefusedFor => ({
  reason: reasons.duplicateKey,
  message,
  final: true,
  keyID: keyIDOf(hash),
});

function secretProblem({ secretProblem: problem }: KeyInput): RefusedFor | undefined {
  if (problem === undefined) return undefined;
  return { ...problem, final: problem.reason === reasons.secretConflict };
}
