import { asObject, asText, defined, type JsonObject, parseJSON } from '../../api/json.ts';
import { type Asked, readAnswer } from '../gateway/answers.ts';
import type { Platform } from '../gateway/platform.ts';
import type { Answer } from '../shared/context.ts';
import { Failure, type FailureKind, printable } from '../shared/failure.ts';

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

/** By the errors that the gateway answers with; see RFC 6749 and RFC 8693. */
const fixes: Readonly<Record<string, readonly [FailureKind, string]>> = {
  invalid_request: ['usage', 'Check the name in `--trust`, and that the token is whole.'],
  invalid_target: ['notFound', 'Check the name in `--trust`: it is an access key with `spec.exchange`.'],
  temporarily_unavailable: ['unavailable', 'Wait a moment, and try again.'],
  server_error: ['unavailable', 'Try again in a moment.'],
};

/** The answer to an exchange. Throws a Failure. */
function readExchangeAnswer(answer: Answer, asked: Asked): JsonObject {
  const { error, error_description: description } = asObject(parseJSON(answer.text));
  if (answer.status < 400 || typeof error !== 'string') return readAnswer(answer, asked);
  const [kind, fix] = fixes[error] ?? ['failure', 'Try again; if it stays so, ask who runs the gateway.'];
  throw new Failure(kind, printable(asText(description) ?? `the exchange was refused: ${error}`), fix);
}
