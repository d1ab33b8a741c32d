import { asObject, asText, isObject, type JsonObject, parseJSON } from '../../api/json.ts';
import type { Answer } from '../shared/context.ts';
import { Failure, type FailureKind, printable } from '../shared/failure.ts';

/** The question to the gateway, for a message about the answer. */
export interface Asked {
  readonly baseURL: string;
  readonly now: number;
}

/** The object in an answer. Throws a Failure for a refusal, and for what no gateway would answer. */
export function readAnswer(answer: Answer, asked: Asked): JsonObject {
  const body = parseJSON(answer.text);
  if (answer.status >= 200 && answer.status < 300 && isObject(body)) return body;
  throw explainRefusal(answer, asked);
}

const login = 'Run `latchkey login`, or give another key in LATCHKEY_ACCESS_KEY_FILE.';

/** By status: what kind of failure it is, and what to do about it. */
const refusals: Readonly<Record<number, readonly [FailureKind, string]>> = {
  400: ['usage', 'Correct what the message names.'],
  401: ['unauthenticated', login],
  403: ['forbidden', 'Use a key with a wider scope, or ask for the right that the message names.'],
  404: ['notFound', 'Check the name: `latchkey targets` and `latchkey keys list` show what is yours.'],
  409: ['failure', 'Choose another name, or leave it out and the gateway picks one.'],
  413: ['usage', 'Send less at once.'],
  422: ['usage', 'Correct the field that the message names.'],
  429: ['unavailable', 'Wait a moment, and try again.'],
};

function explainRefusal(answer: Answer, { baseURL, now }: Asked): Failure {
  const { status } = answer;
  if (status >= 300 && status < 400) return redirected(answer, baseURL);
  const body = asObject(parseJSON(answer.text));
  const text = asText(body['message']);
  if (body['kind'] !== 'Status' || text === undefined) return noGateway(answer, baseURL);
  const message = printable(text);
  const isAway = status >= 500;
  if (isAway) return new Failure('unavailable', message, 'Try again in a moment.');
  const [kind, fix] = refusals[status] ?? ['failure', 'Correct what the message names.'];
  return new Failure(kind, message, (status === 401 && clockProblem(answer, now)) || fix);
}

const redirected = ({ headers }: Answer, baseURL: string): Failure => {
  const { location } = headers;
  const place = typeof location === 'string' ? printable(location) : 'another place';
  return new Failure(
    'usage',
    `${baseURL} answers with a redirect to ${place}`,
    'A key is not sent on: give the base URL that the gateway itself has.',
  );
};

const noGateway = ({ status, headers }: Answer, baseURL: string): Failure => {
  const type = String(headers['content-type'] ?? 'no content type').split(';')[0] ?? '';
  if (status > 500)
    return new Failure(
      'unavailable',
      `${baseURL} answers ${status}: the gateway behind it is away`,
      'Try again in a moment.',
    );
  return new Failure(
    'usage',
    `${baseURL} is no Latchkey gateway (it answers ${status}, ${printable(type)})`,
    'Check the base URL: it ends before `/kubernetes`.',
  );
};

/** The texts of the headers `Warning`, which Node joins. */
export function warningsIn({ headers }: Pick<Answer, 'headers'>): readonly string[] {
  const joined = String(headers['warning'] ?? '');
  return [...joined.matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g)].map(([, text = '']) =>
    text.replaceAll(/\\(.)/g, '$1'),
  );
}

/** Beyond it, ends of keys and tokens are misjudged, milliseconds. */
export const maxClockOffsetMs = 60_000;

/** How much the clock here is ahead; undefined where the answer does not tell. */
export function clockOffset({ headers }: Pick<Answer, 'headers'>, now: number): number | undefined {
  const there = Date.parse(String(headers['date'] ?? ''));
  return Number.isNaN(there) ? undefined : now - there;
}

function clockProblem(answer: Answer, now: number): string | undefined {
  const offset = clockOffset(answer, now);
  if (offset === undefined || Math.abs(offset) < maxClockOffsetMs) return undefined;
  const minutes = Math.round(Math.abs(offset) / 60_000);
  return `The clock of this machine is ${minutes} min ${offset > 0 ? 'ahead of' : 'behind'} the gateway: set it right.`;
}
