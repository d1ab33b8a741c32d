import { allCredentialKinds, type CredentialKind, credentialKinds } from '../../api/credential-kinds.ts';
import { group } from '../../api/names.ts';
import { createOwn } from './create-own.ts';
import { deleteAllOwn } from './delete-all-own.ts';
import { deleteOwn } from './delete-own.ts';
import {
  answerFailure,
  type Endpoint,
  type EndpointRequest,
  type EndpointServices,
  queryOf,
} from './endpoint.ts';
import { getOwn } from './get-own.ts';
import { listOwn } from './list-own.ts';
import { sendObject } from './object-answer.ts';
import { checkPath } from './own-path.ts';
import type { OwnRequest } from './own-request.ts';
import { patchOwn } from './patch-own.ts';
import { withoutCredentials } from './redaction.ts';
import { replaceOwn } from './replace-own.ts';
import { issueInto, type Reply } from './reply.ts';
import { withSchemaHint } from './schema-hints.ts';
import { watchOwn } from './watch-own.ts';

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
    const served = Object.entries(operations).map(([verb, operation]) =>
      serve(verb, answering(operation, { kind, services })),
    );
    const status = serve('get', answering(getOwn, { kind, services }), '/status');
    return [...served, status, serve('watch', watching({ kind, services }))];
  });
  return Object.fromEntries(entries);
}

type Place = { readonly kind: CredentialKind; readonly services: EndpointServices };

function toOwnRequest(request: EndpointRequest, place: Place): OwnRequest {
  const held = place.services.held.hold(request.sender.verdict.identity.user);
  request.onOver(() => held.release());
  return { ...request, ...place, held, query: queryOf(request) };
}

const answering =
  (operation: Operation, place: Place): Endpoint =>
  async (endpointRequest) => {
    const request = toOwnRequest(endpointRequest, place);
    try {
      checkPath(request);
      sendReply(request, withSchemaHint(await operation(request)));
    } catch (error) {
      answerFailure(request, error as Error);
    }
  };

const watching =
  (place: Place): Endpoint =>
  async (endpointRequest) => {
    const request = toOwnRequest(endpointRequest, place);
    try {
      checkPath(request);
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
  const cleaned = withoutCredentials(body, known);
  sendObject(request, status, issued === undefined ? cleaned : issueInto(cleaned, issued), headers);
}
