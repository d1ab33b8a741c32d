import {
  createLocalJWKSet,
  type JSONWebKeySet,
  type JWTHeaderParameters,
  type JWTPayload,
  jwtVerify,
} from 'jose';
import { baseURL } from '../../lab/operator/running-operator.ts';

/** Header and claims of a token that the published keys signed. @throws JOSEError when they did not, or for another issuer. */
export async function verifiedToken(
  token: string,
  keySet: JSONWebKeySet,
): Promise<{ readonly header: JWTHeaderParameters; readonly claims: JWTPayload }> {
  const { payload, protectedHeader } = await jwtVerify(token, createLocalJWKSet(keySet), {
    issuer: baseURL,
    algorithms: ['ES256'],
  });
  return { header: protectedHeader, claims: payload };
}
