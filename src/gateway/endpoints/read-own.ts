import { asObject, type JsonObject } from '../../api/json.ts';
import { serviceAccounts, systemNamespace } from '../../api/names.ts';
import type { LiveRecord } from '../../credentials/record.ts';
import { impersonationHeaders } from '../../kube/client/impersonation.ts';
import type { ObjectKey } from '../../kube/object.ts';
import { type AcceptedForm, metadataOf, objectsOf, wholeObject, withIncluded } from './accepted-form.ts';
import { ask } from './ask.ts';
import { notFound, type OwnRequest, pathOf } from './own-request.ts';
import { Refusal } from './refusal.ts';
import { parseAnswer, type Reply } from './reply.ts';
import { tooManyBytes } from './request-body.ts';

const reader = impersonationHeaders({
  serviceAccount: { namespace: systemNamespace, name: serviceAccounts.reader },
});

/** As it was read, and the object in it. */
export interface Found {
  readonly body: JsonObject;
  readonly object: JsonObject;
  /** Of the text. */
  readonly bytes: number;
}

/** Reads it whole, credentials included. Undefined when another object has its name by now. */
export async function readInForm(
  request: OwnRequest,
  record: LiveRecord,
  { isTable, accept }: AcceptedForm,
): Promise<Found | undefined> {
  const path = pathOf(request.kind, record);
  const question = isTable ? `${path}?includeObject=Object` : path;
  const headers = ['accept', isTable ? accept : 'application/json', ...reader];
  const answer = await ask(request, { method: 'GET', path: question, headers });
  if (answer.status === 404) return undefined;
  // A refusal is about our own account, not about the client.
  if (answer.status !== 200) throw new Error(`the reader got ${answer.status}`);
  const bytes = answer.body.length;
  if (!request.held.take(bytes)) throw new Refusal(tooManyBytes);
  const body = parseAnswer(answer);
  const object = isTable ? asObject(objectsOf(body)[0]) : body;
  if (asObject(object['metadata'])['uid'] === record.uid) return { body, object, bytes };
  request.held.giveBack(bytes);
  return undefined;
}

/** Of the object that has this name now, of any owner. Nothing else of it is read. */
export async function presentUID(request: OwnRequest, key: ObjectKey): Promise<string | undefined> {
  const headers = ['accept', metadataOnly, ...reader];
  const answer = await ask(request, { method: 'GET', path: pathOf(request.kind, key), headers });
  if (answer.status === 404) return undefined;
  if (answer.status !== 200) throw new Error(`the reader got ${answer.status}`);
  return String(asObject(parseAnswer(answer)['metadata'])['uid']);
}

/**
 * What the API server answers to a write of one's own. Where it refuses, another object may have got the name meanwhile, perhaps that
 * of somebody else. Then the refusal is about that one, whose UID it quotes, and one's own is gone.
 */
export async function unlessReplaced(request: OwnRequest, record: LiveRecord, reply: Reply): Promise<Reply> {
  if (isAboutObject(reply) && (await presentUID(request, record)) !== record.uid) throw notFound(request);
  return reply;
}

/** Not about how much the API server has to do. */
export const isAboutObject = ({ status }: Reply): boolean => status >= 400 && status < 500 && status !== 429;

const metadataOnly = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io';

export function shownAs(
  { body, object }: Found,
  { isTable, isMetadata }: AcceptedForm,
  query: URLSearchParams,
): JsonObject {
  if (isTable) return withIncluded(body, query.get('includeObject'));
  return isMetadata ? metadataOf(object) : object;
}

/** The whole object, credentials included. Undefined when another object has its name by now. */
export const readWhole = async (request: OwnRequest, record: LiveRecord): Promise<JsonObject | undefined> =>
  (await readInForm(request, record, wholeObject))?.object;
