import { credentialHash } from '../../../src/credentials/keys/credential-hash.ts';

/** The form of `spec.key` in which a manifest holds no secret. */
export const hashForm = (key: string): string => `sha256:${credentialHash(key)}`;
