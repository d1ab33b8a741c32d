import {
  createLocalJWKSet,
  type JSONWebKeySet,
  type JWTHeaderParameters,
  type JWTPayload,
  jwtVerify,
} from 'jose';
import { criticalScopes } from '../../src/api/names.ts';

/** Who signs tokens, as those who verify them know it. */
export interface TokenIssuer {
  readonly baseURL: string;
  readonly keySet: JSONWebKeySet;
}

/** Header and claims of a token of the issuer. @throws JOSEError when its keys did not sign the token, or for another issuer. */
export async function verifiedToken(
  token: string,
  { baseURL, keySet }: TokenIssuer,
): Promise<{ readonly header: JWTHeaderParameters; readonly claims: JWTPayload }> {
  const { payload, protectedHeader } = await jwtVerify(token, createLocalJWKSet(keySet), {
    issuer: baseURL,
    algorithms: ['ES256'],
    // A token for less than whole clusters says in its header that its scopes have to be understood.
    crit: { [criticalScopes]: true },
  });
  return { header: protectedHeader, claims: payload };
}
