import type { PublicJwk, SigningKey } from './signing-key.ts';

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
export function jwksOf(keys: readonly SigningKey[]): KeySet {
  const published = keys.map(
    ({ kid, publicJwk }) => ({ ...publicJwk, use: 'sig', alg: 'ES256', kid }) as const,
  );
  return { keys: published.sort((one, other) => (one.kid < other.kid ? -1 : 1)) };
}
