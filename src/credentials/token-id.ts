import { hash } from 'node:crypto';

/** Of random bytes in a `jti`. */
export const tokenIDBytes = 16;

/** SHA-256, base64url, of a `jti`. To know a token by it takes no more, and from it no one can make a token of the same `jti`. */
export const tokenIDHash = (jti: string): string => hash('sha256', jti, 'base64url');

export const isTokenIDHash = (value: unknown): value is string =>
  typeof value === 'string' && /^[\w-]{43}$/.test(value);
