import { asObject, type JsonObject } from '../../api/json.ts';
import type { RawResponse } from '../../kube/client/response-collector.ts';
import { badAnswer } from '../../kube/kube-error.ts';

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
  const passed = Object.entries({ warning: headers['warning'], 'retry-after': headers['retry-after'] });
  const kept = passed.filter((header): header is [string, string] => header[1] !== undefined);
  return { status, body: parseAnswer(answer), headers: Object.fromEntries(kept), known };
}

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
  const printable = text.replace(/[^\x20-\x7e]/g, ' ').replace(/["\\]/g, "'");
  const warning = [...(typeof others === 'string' ? [others] : others), `299 - "${printable}"`];
  return { ...reply, headers: { ...headers, warning } };
}
