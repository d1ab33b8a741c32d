import type { CredentialKind } from '../../api/credential-kinds.ts';
import { groups } from '../../api/names.ts';
import { credentialResources, type Resource } from '../../api/resources.ts';
import type { LiveRecord } from '../../credentials/record.ts';
import type { RawResponse } from '../../kube/client/response-collector.ts';
import { keyOf, type ObjectKey } from '../../kube/object.ts';
import { objectPath } from '../../kube/resource-path.ts';
import { isOwn } from '../index/ownership.ts';
import { withoutHeaders } from '../proxy/request-headers.ts';
import { errorAnswer } from '../server/error-answer.ts';
import { ask } from './ask.ts';
import type { EndpointRequest, EndpointServices } from './endpoint.ts';
import type { Holding } from './held-bytes.ts';
import { strictUnlessAsked } from './object-form.ts';
import { Refusal } from './refusal.ts';
import { type Asker, toAsker } from './requester-record.ts';

/** A request about credentials of one's own. */
export interface OwnRequest extends EndpointRequest {
  readonly services: EndpointServices;
  readonly kind: CredentialKind;
  readonly query: URLSearchParams;
  /** What it keeps in memory. */
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

export interface HolderQuestion {
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  readonly contentType?: string;
  /** A group with rights that the holder has for this one request, which was verified. */
  readonly group?: string;
}

/** Sends a verified request as the holder, who has the right to it for this once. The API server judges it by its policies. */
export async function askAsHolder(
  request: OwnRequest,
  { method, path, body, contentType = 'application/json', group = groups.selfService }: HolderQuestion,
): Promise<RawResponse> {
  const headers = [
    ...withoutHeaders(request.send.headers, (name) => aboutBody.has(name)),
    ...['accept', 'application/json', 'impersonate-group', group],
    ...(body === undefined ? [] : ['content-type', contentType]),
  ];
  const bytes = body === undefined ? {} : { body: Buffer.from(JSON.stringify(body)) };
  return await ask(request, { method, path, headers, ...bytes });
}

/** Who the API server takes the request for, when it is sent with this group. */
export function askerOf({ sender, send }: Pick<OwnRequest, 'sender' | 'send'>, group: string): Asker {
  const { record, identity, isLimited } = sender.verdict;
  const asker = { user: identity.user, credential: `${record.name}/${record.uid}`, isLimited };
  return toAsker(send.headers, asker, group);
}

/** They describe the body that the client sent, or wants. */
export const aboutBody: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'content-encoding',
  'content-length',
  'content-type',
]);

const passedToWrites: ReadonlySet<string> = new Set(['dryRun', 'fieldManager', 'fieldValidation', 'force']);

/** The parameters of a write that mean something to the API server, with the question mark. */
export function writeQuery({ query }: Pick<OwnRequest, 'query'>): string {
  const parameters = new URLSearchParams([...query].filter(([name]) => passedToWrites.has(name)));
  return `?${strictUnlessAsked(parameters)}`;
}

export const isDryRun = ({ query }: Pick<OwnRequest, 'query'>): boolean => query.has('dryRun');
