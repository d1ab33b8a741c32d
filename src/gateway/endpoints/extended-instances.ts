import { asObject, asText, isObject, type JsonObject, parseJSON } from '../../api/json.ts';
import { group } from '../../api/names.ts';
import { spaceInstances, virtualClusterInstances } from '../../api/resources.ts';
import type { RawResponse } from '../../kube/client/response-collector.ts';
import { narrowQuery } from '../../scope/gate/narrow-query.ts';
import { narrowingOf } from '../../scope/gate/narrowing.ts';
import { readPairs } from '../../scope/requests/list-query.ts';
import type { ResolvedRequest } from '../../scope/requests/resolve-request.ts';
import { forward } from '../proxy/forward.ts';
import { withoutHeaders } from '../proxy/request-headers.ts';
import { readAccept } from './accepted-form.ts';
import { ask } from './ask.ts';
import { answerFailure, type Endpoint, type EndpointRequest, type EndpointServices } from './endpoint.ts';
import { InstanceUses } from './instance-uses.ts';
import { sendObject } from './object-answer.ts';
import { aboutBody } from './own-request.ts';
import { Refusal } from './refusal.ts';
import { tooManyBytes } from './request-body.ts';

const kinds: ReadonlySet<string> = new Set([virtualClusterInstances.plural, spaceInstances.plural]);

/** Of one answer: some thousand instances. */
const maxBytes = 2 ** 23;

/**
 * A get or a list of instances with `extended=true`: each of them says in `status.canUse` whether the sender may enter it. Clients that
 * ask for that show no others. Undefined for every other request. `plain` answers where the client wants another form than whole objects.
 */
export function extendedInstances(
  asked: ResolvedRequest,
  services: EndpointServices,
  plain: Endpoint | undefined,
): Endpoint | undefined {
  if (!isExtended(asked)) return undefined;
  return async (request) => {
    const form = readAccept(request.request.headers.accept);
    if (form === undefined || form.isTable || form.isMetadata)
      return plain === undefined ? forward(request) : plain(request);
    try {
      await answer(request, services);
    } catch (error) {
      answerFailure(request, error as Error);
    }
  };
}

function isExtended(asked: ResolvedRequest): boolean {
  const { target, apiGroup, resource, subresource, verb, forward: path } = asked;
  if (target.kind !== 'management' || apiGroup !== group || !kinds.has(resource)) return false;
  if (subresource !== '' || (verb !== 'get' && verb !== 'list')) return false;
  const mark = path.indexOf('?');
  if (mark === -1 || !path.includes('extended')) return false;
  return readPairs(path.slice(mark)).find(({ key }) => key === 'extended')?.value === 'true';
}

async function answer(request: EndpointRequest, services: EndpointServices): Promise<void> {
  const { response, sender, asked } = request;
  const held = services.held.hold(sender.verdict.identity.user);
  response.once('close', () => held.release());
  const read = await readInstances(request);
  if (!held.take(read.body.length)) throw new Refusal(tooManyBytes);
  const object = asObject(parseJSON(read.body));
  if (read.status !== 200) return sendObject(request, read.status, object);
  const uses = new InstanceUses(request, services, asked.resource);
  const extended = asked.verb === 'get' ? await extend(object, uses) : await extendAll(object, uses);
  sendObject(request, 200, extended, uses.isCutShort ? { warning: cutShort } : {});
}

/** As the user may read them, without what the scope refuses by name. */
async function readInstances(request: EndpointRequest): Promise<RawResponse> {
  const { send, asked, sender } = request;
  const narrowing = narrowingOf(sender.verdict.gates, asked);
  const headers = [
    ...withoutHeaders(send.headers, (name) => aboutBody.has(name)),
    ...['accept', 'application/json'],
  ];
  const path = narrowing === undefined ? send.path : narrowQuery(send.path, narrowing);
  return await ask(request, { method: 'GET', path, headers, maxBytes });
}

async function extendAll(list: JsonObject, uses: InstanceUses): Promise<JsonObject> {
  const items: JsonObject[] = [];
  for (const item of Array.isArray(list['items']) ? list['items'].filter(isObject) : [])
    items.push(await extend(item, uses));
  return { ...list, items };
}

async function extend(instance: JsonObject, uses: InstanceUses): Promise<JsonObject> {
  const { namespace, name, deletionTimestamp } = asObject(instance['metadata']);
  const isGoing = deletionTimestamp !== undefined;
  const canUse = !isGoing && (await uses.isAllowed(asText(namespace) ?? '', asText(name) ?? ''));
  // Clients that ask for this know a list by that name, and could read nothing of the answer.
  const { access: _, ...spec } = asObject(instance['spec']);
  return { ...instance, spec, status: { ...asObject(instance['status']), canUse } };
}

const cutShort =
  '299 - "there are too many instances to ask about each of them: some say canUse false; ask for one project"';
