import { createHash } from 'node:crypto';
import { formatInstant } from '../../api/instant.ts';
import type { JsonObject } from '../../api/json.ts';
import { apiVersion, annotations as names } from '../../api/names.ts';
import type { AcceptedClaims } from './check-claims.ts';
import type { Login } from './login.ts';

/** A token that is exchanged. */
export interface ExchangedToken extends AcceptedClaims {
  readonly issuer: string;
  readonly text: string;
}

/**
 * The same for the same token, on every replica and after every restart: the API server takes a name once, and so each token is
 * exchanged once. A token without an ID is known by what is signed: signatures of one text differ.
 */
export function exchangedName({ issuer, tokenID, text }: ExchangedToken): string {
  const known = tokenID === undefined ? ['text', text.slice(0, text.lastIndexOf('.'))] : ['id', tokenID];
  const digest = createHash('sha256')
    .update(JSON.stringify([issuer, ...known]))
    .digest('hex');
  return `exchanged-${digest.slice(0, 40)}`;
}

/** Annotations that no client chooses. */
export const exchangeRecord = ({ issuer, subject, usableUntil }: ExchangedToken): JsonObject => ({
  [names.exchangedIssuer]: issuer,
  [names.exchangedSubject]: subject,
  // Whole seconds, and never too early.
  [names.exchangedUntil]: formatInstant(Math.ceil(usableUntil / 1_000) * 1_000),
});

/** A child of the key that takes the token, for a pipeline. */
export const childKey = (token: ExchangedToken, accessKey: string, ttl: number): JsonObject => ({
  apiVersion,
  kind: 'OwnedAccessKey',
  metadata: { name: exchangedName(token) },
  spec: { accessKey, ttl, displayName: `Exchanged for ${accessKey}` },
});

/** The session of a person. */
export const loginKey = (
  token: ExchangedToken,
  { user, groups, identity }: Login,
  ttl: number,
): JsonObject => ({
  apiVersion,
  kind: 'OwnedAccessKey',
  metadata: { name: exchangedName(token) },
  spec: { user, groups, ttl, type: 'Login', displayName: 'Login', identity },
});

/** Seconds: what was asked for, and at most what may be had. */
export const exchangedTTL = (maxTTL: number, expiresIn: number = maxTTL): number =>
  Math.min(maxTTL, expiresIn);
