import { purposes } from '../../api/names.ts';
import { secretLocation } from '../../credentials/credential-secret.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import type { SecretRecord } from './secret-record.ts';

/** The key, in the store of Secrets, of the place that `spec.secretRef` names. */
export function secretKeyOf(record: CredentialRecord): string | undefined {
  const location = secretLocation(record);
  return location === undefined ? undefined : `${location.namespace}/${location.name}`;
}

/** True when the Secret that `spec.secretRef` names holds the confirmed credential, unaltered. */
export function isIntact(record: CredentialRecord, present: SecretRecord | undefined): boolean {
  const location = secretLocation(record);
  const { credentialHash, documentHash = credentialHash, serial } = record.status;
  return (
    location !== undefined &&
    present !== undefined &&
    credentialHash !== undefined &&
    present.ownerUID === record.uid &&
    present.serial === serial &&
    present.hashes.get(location.entry) === documentHash
  );
}

/** Secrets with a credential of this object at places that `spec.secretRef` does not name any more. */
export function staleSecrets(
  record: CredentialRecord,
  all: readonly SecretRecord[],
): readonly SecretRecord[] {
  const place = secretKeyOf(record);
  return all.filter(({ key, purpose }) => purpose === purposes.credential && key !== place);
}
