/** Where the gateway serves the key set, below the issuer. */
export const jwksPath = '/openid/v1/jwks';

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
    jwks_uri: `${issuer}${jwksPath}`,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256'],
    claims_supported: ['iss', 'aud', 'sub', 'groups', 'iat', 'nbf', 'exp', 'jti'],
  };
}
