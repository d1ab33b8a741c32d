import type { PublicJwk, SigningKey } from './signing-key.ts';

/** The published documents of the issuer: the entries of a ConfigMap, and the paths below the issuer where the gateway serves them. */
export const issuerDocuments = {
  discovery: { entry: 'openid-configuration', path: '/.well-known/openid-configuration' },
  keySet: { entry: 'jwks', path: '/openid/v1/jwks' },
} as const;

export interface DiscoveryDocument {
  readonly issuer: string;
  readonly jwks_uri: string;
  readonly response_types_supported: readonly string[];
  readonly subject_types_supported: readonly string[];
  readonly id_token_signing_alg_values_supported: readonly string[];
  readonly claims_supported: readonly string[];
}

/** The OpenID Connect discovery document of an issuer (a base URL without a slash at the end). */
export function discoveryDocument(issuer: string): DiscoveryDocument {
  return {
    issuer,
    jwks_uri: `${issuer}${issuerDocuments.keySet.path}`,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256'],
    claims_supported: ['iss', 'aud', 'sub', 'groups', 'iat', 'nbf', 'exp', 'jti'],
  };
}

/** A public key of the published set (RFC 7517). */
export interface PublishedKey extends PublicJwk {
  readonly use: 'sig';
  readonly alg: 'ES256';
  readonly kid: string;
}

export interface KeySet {
  readonly keys: readonly PublishedKey[];
}

/** The public key set of all keys, also of those that do not sign yet or any more. Sorted, so that equal sets are equal text. */
export function createKeySet(keys: readonly SigningKey[]): KeySet {
  const published = keys.map(
    ({ kid, publicJwk }) => ({ ...publicJwk, use: 'sig', alg: 'ES256', kid }) as const,
  );
  return { keys: published.sort((one, other) => (one.kid < other.kid ? -1 : 1)) };
}
