import { asObject, asText, type JsonObject, parseJSON } from '../../api/json.ts';
import { type Asked, readAnswer } from '../gateway/answers.ts';
import type { Answer } from '../shared/context.ts';
import { Failure, type FailureKind, printable } from '../shared/failure.ts';

/** By the errors that the gateway answers with; see RFC 6749 and RFC 8693. */
const fixes: Readonly<Record<string, readonly [FailureKind, string]>> = {
  invalid_request: ['usage', 'Check the name in `--trust`, and that the token is whole.'],
  invalid_target: ['notFound', 'Check the name in `--trust`: it is an access key with `spec.exchange`.'],
  temporarily_unavailable: ['unavailable', 'Wait a moment, and try again.'],
  server_error: ['unavailable', 'Try again in a moment.'],
};

/** The answer to an exchange. Throws a Failure. */
export function readExchangeAnswer(answer: Answer, asked: Asked): JsonObject {
  const { error, error_description: description } = asObject(parseJSON(answer.text));
  if (answer.status < 400 || typeof error !== 'string') return readAnswer(answer, asked);
  const [kind, fix] = fixes[error] ?? ['failure', 'Try again; if it stays so, ask who runs the gateway.'];
  throw new Failure(kind, printable(asText(description) ?? `the exchange was refused: ${error}`), fix);
}
