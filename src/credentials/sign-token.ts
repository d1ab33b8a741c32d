import type { KeyObject } from 'node:crypto';
import { CompactSign } from 'jose';
import type { TokenClaims } from './token-claims.ts';

/** What signs tokens now. */
export interface TokenSigner {
  readonly kid: string;
  readonly privateKey: KeyObject;
}

/** The longest token that we issue, in bytes; servers in front of a cluster limit all headers together to 8 KiB or little more. */
export const maxTokenBytes = 6 * 1024;

const encoder = new TextEncoder();

/**
 * Signs the claims as a compact JWT with ES256. The claims are complete, so jose's `SignJWT`, which copies them with
 * `structuredClone` (a sixth of the time of a signature), has nothing to add.
 */
export function signToken(claims: TokenClaims, signer: TokenSigner): Promise<string> {
  return new CompactSign(encoder.encode(JSON.stringify(claims)))
    .setProtectedHeader({ alg: 'ES256', typ: 'JWT', kid: signer.kid })
    .sign(signer.privateKey);
}

/** True for a token that must not be issued (`TokenTooLarge`). */
export function tokenTooLarge(token: string): boolean {
  return Buffer.byteLength(token) > maxTokenBytes;
}
