import { canonicalJson } from '../../api/canonical-json.ts';
import { checkAccessKey } from './access-key.ts';
import { credentialHash } from './credential-hash.ts';

const plainForm = /^[A-Za-z0-9._~+/=-]{20,512}$/;
const hashForm = /^sha256:([0-9a-f]{64})$/;

/** `spec.key` without the secret: which form stands there, and the SHA-256 (64 hex) of the key. */
export interface SpecKey {
  readonly form: 'Plain' | 'Hash';
  readonly hash: string;
  /** False for what cannot be a key, and for what begins with `lk_` and is not whole: no gateway would accept it. */
  readonly wellFormed: boolean;
}

/** Reads `spec.key`, without the secret. `undefined`: no key (absent, null or empty). Never throws for JSON of sane depth. */
export function parseSpecKey(value: unknown): SpecKey | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string') {
    return { form: 'Plain', hash: credentialHash(canonicalJson(value)), wellFormed: false };
  }
  const hash = hashForm.exec(value)?.[1];
  if (hash !== undefined) return { form: 'Hash', hash, wellFormed: true };
  const wellFormed = plainForm.test(value) && checkAccessKey(value) !== 'malformed';
  return { form: 'Plain', hash: credentialHash(value), wellFormed };
}
