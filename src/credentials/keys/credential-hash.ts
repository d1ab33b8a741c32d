import { hash } from 'node:crypto';

/** SHA-256 of a bearer string, 64 lower-case hex characters: the only form in which a credential is kept and looked up. */
export function credentialHash(bearer: string): string {
  return hash('sha256', bearer, 'hex');
}

/** The part of a credential hash that people see. For display only, never for a decision. */
export function keyIDOf(hashOfCredential: string): string {
  return hashOfCredential.slice(0, 16);
}
