import { conditionTypes } from '../../../api/conditions.ts';
import { reasons } from '../../../api/reasons.ts';
import { keyIDOf } from '../../../credentials/credential-hash.ts';
import type { CredentialRecord } from '../../../credentials/record.ts';
import type { Parentage } from '../../credential/parent.ts';
import type { RefusedFor } from '../../credential/refused-status.ts';
import type { KeyInput } from './input.ts';

/** Why nothing may be confirmed for this key; undefined when nothing speaks against it. */
export function problemOf(input: KeyInput, parentage: Parentage): RefusedFor | undefined {
  // The key first: a refused duplicate must not be forgotten because its parent is refused for a while.
  return keyProblem(input) ?? (parentage.kind === 'refused' ? parentage.problem : secretProblem(input));
}

function keyProblem({ record, claimants }: KeyInput): RefusedFor | undefined {
  const { specKey, status } = record;
  if (specKey === undefined) return undefined;
  if (!specKey.wellFormed) {
    return { reason: reasons.malformedKey, message: malformed, final: true };
  }
  if (specKey.hash === status.credentialHash) return undefined;
  const claimed = claimants(specKey.hash).some((other) => other.uid !== record.uid);
  return claimed || wasRefusedBefore(record, specKey.hash) ? duplicate(specKey.hash) : undefined;
}

const malformed =
  'spec.key is not usable: it needs 20 to 512 characters of A-Z a-z 0-9 . _ ~ + / = -, or sha256: and 64 hexadecimal digits; where it begins with lk_, a character was mistyped or lost.';

/** A later claim stays refused after the first owner is gone: whoever saw a hash in Git must not inherit the key. */
function wasRefusedBefore(record: CredentialRecord, hash: string): boolean {
  const refused = record.conditions.some(
    ({ type, reason }) => type === conditionTypes.ready && reason === reasons.duplicateKey,
  );
  return refused && record.status.keyID === keyIDOf(hash);
}

const duplicate = (hash: string): RefusedFor => ({
  reason: reasons.duplicateKey,
  message: 'Another OwnedAccessKey has the same key: set another spec.key here.',
  final: true,
  keyID: keyIDOf(hash),
});

function secretProblem({ secretProblem: problem }: KeyInput): RefusedFor | undefined {
  if (problem === undefined) return undefined;
  return { ...problem, final: problem.reason === reasons.secretConflict };
}
