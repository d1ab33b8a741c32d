import type { CredentialKind } from '../../../api/credential-kinds.ts';
import { asObject, type JsonObject } from '../../../api/json.ts';
import { apiVersion, groups } from '../../../api/names.ts';
import { credentialResources, type Resource } from '../../../api/resources.ts';
import type { LiveRecord } from '../../../credentials/record.ts';
import type { RawResponse } from '../../../kube/client/response-collector.ts';
import { type KubeObject, keyOf, type ObjectKey } from '../../../kube/object.ts';
import { objectPath } from '../../../kube/resource-path.ts';
import { isOwn } from '../../index/ownership.ts';
import { errorAnswer } from '../../server/error-answer.ts';
import { type Asking, ask, headersInPlace, reader } from '../shared/ask.ts';
import type { EndpointRequest, EndpointServices } from '../shared/endpoint.ts';
import type { Holding } from '../shared/held-bytes.ts';
import {
  type AcceptedForm,
  metadataOf,
  objectsOf,
  wholeObject,
  withIncluded,
} from '../shared/list-options.ts';
import { parseAnswer, Refusal, type Reply } from '../shared/reply.ts';
import { strictUnlessAsked } from '../shared/strict-fields.ts';

/** A request about credentials of one's own. */
export interface OwnRequest extends EndpointRequest {
  readonly services: EndpointServices;
  readonly kind: CredentialKind;
  readonly query: URLSearchParams;
  /** Bytes that the request keeps in memory. */
  readonly held: Holding;
}

/** The object that the path names; undefined where there is none, and where it is somebody else's. */
export function findOwn({ services, kind, asked, sender }: OwnRequest): LiveRecord | undefined {
  const { namespace, name } = asked;
  const record = services.index.records.ofKind[kind].get(keyOf({ namespace, name }));
  return record !== undefined && isOwn(record, sender.verdict) ? record : undefined;
}

export const resourceOf = ({ kind }: Pick<OwnRequest, 'kind'>): Resource => credentialResources[kind];

export const pathOf = (kind: CredentialKind, { namespace = '', name }: ObjectKey): string =>
  objectPath(credentialResources[kind], { namespace, name });

/** The same for what is not there and for what is somebody else's. */
export function notFound({ kind, asked: { name } }: Pick<OwnRequest, 'kind' | 'asked'>): Refusal {
  const { plural: resource, group } = credentialResources[kind];
  const details = { name, group, kind: resource };
  return new Refusal(errorAnswer('ERR_OBJECT_NOT_FOUND', { resource, name }, { details }));
}

interface HolderQuestion {
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  readonly contentType?: string;
  /** A group with rights that the holder has for this one request, which was verified. */
  readonly group?: string;
  /** Then the request gets its answer also when its credential has ended. */
  readonly mayEndCredential?: boolean;
}

/** Sends a verified request as the holder, who has the right to it for this once. The API server judges it by its policies. */
export async function askAsHolder(
  request: OwnRequest,
  { method, path, body, mayEndCredential = false, ...question }: HolderQuestion,
): Promise<RawResponse> {
  const { contentType = 'application/json', group = groups.selfService } = question;
  const headers = headersInPlace(request, { group, ...(body === undefined ? {} : { contentType }) });
  const bytes = body === undefined ? {} : { body: Buffer.from(JSON.stringify(body)) };
  if (!mayEndCredential) return await ask(request, { method, path, headers, ...bytes });
  const answer = await ask(request, { method, path, headers, ...bytes, onSent: request.finish });
  // Nothing was written, and another try may follow.
  if (answer.status >= 400 && answer.status < 500) request.resume();
  return answer;
}

const passedToWrites: ReadonlySet<string> = new Set(['dryRun', 'fieldManager', 'fieldValidation', 'force']);

/** The parameters of a write that mean something to the API server, with the question mark. */
export function writeQuery({ query }: Pick<OwnRequest, 'query'>): string {
  const parameters = new URLSearchParams([...query].filter(([name]) => passedToWrites.has(name)));
  return `?${strictUnlessAsked(parameters)}`;
}

export const isDryRun = ({ query }: Pick<OwnRequest, 'query'>): boolean => query.has('dryRun');

/** Without it the credential of this very request works no longer. */
export const isSelfOrAbove = ({ sender: { verdict } }: OwnRequest, { uid }: LiveRecord): boolean =>
  [verdict.record, ...verdict.ancestors].some((record) => record.uid === uid);

/** All that reading an object of a kind needs. */
export type Reading = Asking & Pick<OwnRequest, 'kind' | 'held'>;

/** As it was read, and the object in it. */
export interface Found {
  readonly body: JsonObject;
  readonly object: JsonObject;
  /** Of the text. */
  readonly bytes: number;
}

/** Reads it whole, credentials included. Undefined when another object has its name by now. */
export async function readInForm(
  request: Reading,
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
  request.held.takeOrThrow(bytes);
  const body = parseAnswer(answer);
  const object = isTable ? asObject(objectsOf(body)[0]) : body;
  if (asObject(object['metadata'])['uid'] === record.uid) return { body, object, bytes };
  request.held.giveBack(bytes);
  return undefined;
}

/**
 * The same of an object that the watch of the gateway has brought: with the same right as it is read with, and it takes as much memory.
 * Items of a list have no kind. Throws a Refusal.
 */
export function foundInArrival(
  { kind, held }: Pick<OwnRequest, 'kind' | 'held'>,
  arrived: KubeObject,
): Found {
  const object = { ...arrived, apiVersion, kind };
  const bytes = Buffer.byteLength(JSON.stringify(object));
  held.takeOrThrow(bytes);
  return { body: object, object, bytes };
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
 * Passes on the API server's answer to a write of one's own. After a refusal another object may have the name, perhaps that
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
export const readWhole = async (request: Reading, record: LiveRecord): Promise<JsonObject | undefined> =>
  (await readInForm(request, record, wholeObject))?.object;
