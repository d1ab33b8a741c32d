import { asText, defined } from '../../api/json.ts';
import type { Platform } from '../gateway/platform.ts';
import { Failure } from '../shared/failure.ts';
import { readExchangeAnswer } from './oauth.ts';

/** A token of somebody else that the gateway takes for a key. */
export interface Subject {
  readonly token: string;
  readonly type: 'id_token' | 'jwt';
  /** The access key that names this issuer in `spec.exchange`. Absent: the token is of a person. */
  readonly trust?: string;
}

interface ExchangedKey {
  readonly key: string;
  /** Epoch milliseconds. */
  readonly end?: number;
}

/** Exchanges a token for a key, by RFC 8693. Throws a Failure. */
export async function exchangeToken(
  gateway: Platform,
  { token, type, trust }: Subject,
  now: () => number,
  timeoutMs = 20_000,
): Promise<ExchangedKey> {
  const form = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token: token,
    subject_token_type: `urn:ietf:params:oauth:token-type:${type}`,
    ...(trust === undefined ? {} : { audience: trust }),
  });
  const answer = await gateway.send('/oauth/token', {
    method: 'POST',
    body: form,
    contentType: 'application/x-www-form-urlencoded',
    timeoutMs,
  });
  const body = readExchangeAnswer(answer, { baseURL: gateway.connection.baseURL, now: now() });
  const key = asText(body['access_token']);
  if (key === undefined) throw new Failure('failure', 'the gateway made no key', 'Try again.');
  const seconds = body['expires_in'];
  return defined({ key, end: typeof seconds === 'number' ? now() + seconds * 1_000 : undefined });
}
