import { allCredentialKinds, type CredentialKind, credentialKinds } from '../../../api/credential-kinds.ts';
import { group } from '../../../api/names.ts';
import { credentialResources } from '../../../api/resources.ts';
import { isSegment } from '../../../kube/resource-path.ts';
import { touchedObject, trailOfDryRun } from '../../audit/trail.ts';
import {
  type Endpoint,
  type EndpointRequest,
  type EndpointServices,
  holdFor,
  queryOf,
} from '../shared/endpoint.ts';
import { answerFailure, issueInto, type Reply, refuse, sendObject } from '../shared/reply.ts';
import { patchOwn, replaceOwn } from './change.ts';
import { createOwn } from './create.ts';
import { deleteAllOwn, deleteOwn } from './delete.ts';
import { getOwn, listOwn } from './list.ts';
import { asksForEveryone, listEveryone } from './list-everyone.ts';
import { isDryRun, notFound, type OwnRequest } from './request.ts';
import { withoutCredentials } from './secrets.ts';
import { withSchemaHint } from './spec-warnings.ts';
import { watchOwn } from './watch.ts';

type Operation = (request: OwnRequest) => Promise<Reply>;

const operations: Readonly<Record<string, Operation>> = {
  // The path is checked first, and no method that has no verb fits any.
  '': getOwn,
  get: getOwn,
  list: listOwn,
  create: createOwn,
  update: replaceOwn,
  patch: patchOwn,
  delete: deleteOwn,
  deletecollection: deleteAllOwn,
};

/** All that holders can do with credentials of their own, by question. */
export function credentialEndpoints(services: EndpointServices): Readonly<Record<string, Endpoint>> {
  const entries = allCredentialKinds.flatMap((kind) => {
    const { plural } = credentialKinds[kind];
    const serve = (verb: string, endpoint: Endpoint, subresource = '') =>
      [`${verb} ${plural}${subresource}.${group}`, endpoint] as const;
    const operationEntries = Object.entries(operations).map(([verb, operation]) =>
      serve(verb, answering(operation, { kind, services })),
    );
    const status = serve('get', answering(getOwn, { kind, services }), '/status');
    return [...operationEntries, status, serve('watch', watching({ kind, services }))];
  });
  return Object.fromEntries(entries);
}

type ServedKind = { readonly kind: CredentialKind; readonly services: EndpointServices };

function toOwnRequest(request: EndpointRequest, served: ServedKind): OwnRequest {
  const held = holdFor(request, served.services.held);
  const query = queryOf(request);
  const trail = isDryRun({ query }) ? trailOfDryRun(request.trail) : request.trail;
  return { ...request, ...served, held, query, trail };
}

const answering =
  (operation: Operation, served: ServedKind): Endpoint =>
  async (endpointRequest) => {
    const request = toOwnRequest(endpointRequest, served);
    try {
      checkPath(request);
      const answer = asksForEveryone(request) ? listEveryone : operation;
      sendReply(request, withSchemaHint(await answer(request)));
    } catch (error) {
      answerFailure(request, error as Error);
    }
  };

const watching =
  (served: ServedKind): Endpoint =>
  async (endpointRequest) => {
    const request = toOwnRequest(endpointRequest, served);
    try {
      checkPath(request);
      asksForEveryone(request);
      await watchOwn(request);
    } catch (error) {
      // Clients watch again from where they got to.
      if (request.response.headersSent) request.response.destroy();
      else answerFailure(request, error as Error);
    }
  };

/** Every body of our kinds goes out here, or in a watch: without credentials, but for the one that the request made. */
function sendReply(request: OwnRequest, reply: Reply): void {
  if (request.response.destroyed) return;
  const { status, body, known, issued, headers } = reply;
  if (status < 300 && making.has(request.asked.verb))
    request.trail?.touched(touchedObject(request.kind, body));
  const cleaned = withoutCredentials(body, known);
  sendObject(request, status, issued === undefined ? cleaned : issueInto(cleaned, issued), headers);
}

type AskedPath = Pick<OwnRequest, 'kind' | 'asked'> & {
  readonly request: Pick<OwnRequest['request'], 'method'>;
};

/** Refuses what method and path make no sense of together, as the API server does for kinds of its own. Throws a Refusal. */
function checkPath(place: AskedPath): void {
  const { kind, asked } = place;
  if (isElsewhere(place)) throw notFound(place);
  for (const part of [asked.namespace, asked.name])
    if (part !== '' && !isSegment(part)) refuse('ERR_OBJECT_NAME', {});
  if (isServed(place)) return;
  const headers = ['allow', asked.name === '' ? 'GET, POST, DELETE' : 'GET, PUT, PATCH, DELETE'];
  refuse('ERR_OPERATION_UNKNOWN', { resource: credentialResources[kind].plural }, { headers });
}

/** In a namespace where the kind has none, or without one where it has. Only lists go through all namespaces. */
function isElsewhere({ kind, asked: { namespace, verb } }: AskedPath): boolean {
  const { namespaced } = credentialResources[kind];
  if (!namespaced) return namespace !== '';
  return namespace === '' && verb !== 'list' && verb !== 'watch';
}

/** A path that says `watch` makes every method one; only a GET is meant as one. */
function isServed({ asked: { verb, name }, request: { method } }: AskedPath): boolean {
  if (verb === 'watch') return method === 'GET';
  if (verb === '') return false;
  if (verb === 'create') return name === '';
  return name !== '' || !changing.has(verb);
}

const changing: ReadonlySet<string> = new Set(['update', 'patch']);
const making: ReadonlySet<string> = new Set(['create', ...changing]);
