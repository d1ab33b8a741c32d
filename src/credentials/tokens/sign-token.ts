import { type KeyObject, sign } from 'node:crypto';
import { asObject } from '../../api/json.ts';
import { criticalScopes, group, scopedAudienceSuffix } from '../../api/names.ts';
import type { TokenClaims } from './claims.ts';

/** The key that signs tokens now. */
export interface TokenSigner {
  readonly kid: string;
  readonly privateKey: KeyObject;
}

/** The longest token that we issue, in bytes; servers in front of a cluster limit all headers together to 8 KiB or little more. */
export const maxTokenBytes = 6 * 1024;

/**
 * Signs the claims as a compact JWT with ES256 (RFC 7515, RFC 7518 section 3.4). By node:crypto: WebCrypto, which jose
 * uses, takes three times the CPU for one signature (docs/decisions/0005). jose still reads what is made here, in tests.
 */
export function signToken(claims: TokenClaims, { kid, privateKey }: TokenSigner): string {
  // RFC 7515, 4.1.11. Without it a kube-apiserver that trusts the issuer would give a narrow token all rights of its user.
  const crit = hasCriticalScopes(claims) ? { crit: [criticalScopes], [criticalScopes]: true } : {};
  const header = encode(JSON.stringify({ alg: 'ES256', typ: 'JWT', kid, ...crit }));
  const input = `${header}.${encode(JSON.stringify(claims))}`;
  return `${input}.${joseSignature(sign('sha256', Buffer.from(input), privateKey)).toString('base64url')}`;
}

/** An API server cannot know our header. One that enforces scopes has an audience of its own in its place. */
export const hasCriticalScopes = (claims: TokenClaims): boolean =>
  isNarrow(claims[group].scopes) && !areScoped(claims.aud, claims.iss);

/**
 * Whether only API servers that enforce scopes take a token with these audiences. One other audience is enough for a verifier that knows
 * no scopes, and without any some do not check.
 */
export const areScoped = (audiences: readonly string[], issuer: string): boolean =>
  audiences.length > 0 &&
  audiences.every(
    (audience) => audience.startsWith(issuer) && scopedPath.test(audience.slice(issuer.length)),
  );

/** A cluster may have the name of the suffix. */
const scopedPath = new RegExp(`^/cluster/[^/]+${scopedAudienceSuffix}$`);

/** Whole clusters are what the audience says, and roles are about the platform alone. All else only a reader of scopes can tell. */
export function isNarrow(scopes: readonly unknown[]): boolean {
  return scopes.some((scope) =>
    Object.entries(asObject(scope)).some(
      ([list, entries]) =>
        list !== 'clusters' && list !== 'roles' && !(Array.isArray(entries) && entries.length === 0),
    ),
  );
}

/** True for a token that must not be issued (`TokenTooLarge`). */
export function tokenTooLarge(token: string): boolean {
  return Buffer.byteLength(token) > maxTokenBytes;
}

const encode = (text: string): string => Buffer.from(text).toString('base64url');

/**
 * r and s of 32 bytes each, out of a DER sequence of two integers. Node makes this form itself with
 * `dsaEncoding: 'ieee-p1363'`, at twice the cost of the signature.
 */
function joseSignature(der: Buffer): Buffer {
  const signature = Buffer.alloc(64);
  let tag = 2;
  for (const end of [32, 64]) {
    const next = tag + 2 + der.readUInt8(tag + 1);
    const start = Math.max(tag + 2, next - 32);
    der.copy(signature, end - (next - start), start, next);
    tag = next;
  }
  return signature;
}
