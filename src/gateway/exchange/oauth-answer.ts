import { asObject, asText, parseJSON } from '../../api/json.ts';
import type { RequestError } from '../../credentials/exchange/request.ts';
import type { HTTPErrorCode } from '../../errors.ts';
import type { ErrorAnswer } from '../server/error-answer.ts';

type OAuthError = RequestError | 'temporarily_unavailable' | 'server_error';

/** Errors that say what they are. All others are named by their status. */
const errorsByCode: Readonly<Partial<Record<HTTPErrorCode, OAuthError>>> = {
  ERR_EXCHANGE_TARGET: 'invalid_target',
  ERR_EXCHANGE_KEY: 'invalid_target',
};

/**
 * The same error in the form of RFC 6749, 5.2, with our sentence in `error_description`. A bad subject token is an invalid request
 * (RFC 8693, 2.2.2).
 */
export function oauthAnswer(
  answer: ErrorAnswer,
  error: OAuthError = errorsByCode[answer.code] ?? byStatus(answer.status),
): ErrorAnswer {
  const message = asText(asObject(parseJSON(answer.body))['message']) ?? answer.code;
  const body = JSON.stringify({ error, error_description: describable(message) });
  const kept = answer.headers.filter((_, index) => passed.has(answer.headers[index - (index % 2)] ?? ''));
  return { code: answer.code, status: statusOf(answer.status), headers: [...headersOf(body), ...kept], body };
}

const passed: ReadonlySet<string> = new Set(['retry-after', 'allow']);

export const headersOf = (body: string): readonly string[] => [
  ...['content-type', 'application/json', 'content-length', String(Buffer.byteLength(body))],
  ...['cache-control', 'no-store', 'pragma', 'no-cache', 'x-content-type-options', 'nosniff'],
];

function byStatus(status: number): OAuthError {
  if (status === 408 || status === 429 || status === 503 || status === 504) return 'temporarily_unavailable';
  return status >= 500 ? 'server_error' : 'invalid_request';
}

/** Clients know 400 alone for what they asked wrongly. */
const kept: ReadonlySet<number> = new Set([408, 413, 429]);
const statusOf = (status: number): number => (status >= 500 || kept.has(status) ? status : 400);

/** RFC 6749 allows neither quotes nor anything beyond ASCII there. */
const describable = (text: string): string =>
  text
    .replaceAll('"', "'")
    .replaceAll('\\', '/')
    .replace(/[^\x20-\x7e]/g, '?');
