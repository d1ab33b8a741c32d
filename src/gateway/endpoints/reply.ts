import { asObject, type JsonObject } from '../../api/json.ts';
import type { RawResponse } from '../../kube/client/response-collector.ts';
import { badAnswer } from '../../kube/kube-error.ts';
import { renderStatus } from '../../kube/status.ts';
import { warningOf } from '../server/warning.ts';

/** A credential that this very request made. */
export interface IssuedCredential {
  readonly part: 'spec' | 'status';
  readonly field: string;
  readonly value: string;
}

/** What goes to the client once credentials are taken out. */
export interface Reply {
  readonly status: number;
  readonly body: JsonObject;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** Plain credentials that went to the API server, which its answer could quote. */
  readonly known?: readonly string[];
  readonly issued?: IssuedCredential | undefined;
}

/** An answer of the API server, with what clients act on. */
export function toReply(answer: RawResponse, known: readonly string[] = []): Reply {
  const { status, headers } = answer;
  const passed = Object.entries({ warning: headers['warning'], 'retry-after': retryAfterOf(answer) });
  const kept = passed.filter((header): header is [string, string] => header[1] !== undefined);
  const body = status < 400 ? parseAnswer(answer) : parseRefusal(answer);
  return { status, body, headers: Object.fromEntries(kept), known };
}

/** Who is told to come back is told when. */
export function retryAfterOf({ status, headers }: RawResponse): string | undefined {
  return headers['retry-after'] ?? (status === 429 || status === 503 ? '1' : undefined);
}

/** Also where it is no Status: an API server that has too much to do says so in plain text, and so may what stands before it. */
export function parseRefusal(answer: RawResponse): JsonObject {
  const { status: code, headers, body } = answer;
  try {
    return parseAnswer(answer);
  } catch (error) {
    if (code > 599) throw error;
    // In an error of its own, what stands before the API server may name addresses inside.
    const isText = code < 500 && /^text\/plain\b/i.test(headers['content-type'] ?? '');
    const message = isText ? body.trim().slice(0, maxTextLength) : `the API server answered with ${code}`;
    return asObject(JSON.parse(renderStatus({ code, message })));
  }
}

const maxTextLength = 1_024;

/** Any JSON object that the API server answers. */
export function parseAnswer({ status, body }: Pick<RawResponse, 'status' | 'body'>): JsonObject {
  try {
    if (status < 200 || status > 599 || (status > 299 && status < 400)) throw new Error('no such answer');
    return asObject(JSON.parse(body));
  } catch {
    throw badAnswer({ verb: 'REQUEST', path: 'credentials' }, `status ${status} without an object`);
  }
}

export const issueInto = (object: JsonObject, { part, field, value }: IssuedCredential): JsonObject => ({
  ...object,
  [part]: { ...asObject(object[part]), [field]: value },
});

/** One more text for people; kubectl prints it. */
export function withWarning({ headers = {}, ...reply }: Reply, text: string): Reply {
  const others = headers['warning'] ?? [];
  const warning = [...(typeof others === 'string' ? [others] : others), warningOf(text)];
  return { ...reply, headers: { ...headers, warning } };
}
