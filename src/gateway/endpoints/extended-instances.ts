import { asObject, asText, isObject, type JsonObject, parseJSON } from '../../api/json.ts';
import type { RawResponse } from '../../kube/client/response-collector.ts';
import { narrowQuery } from '../../scope/gate/narrow-query.ts';
import { narrowingOf } from '../../scope/gate/narrowing.ts';
import type { ResolvedRequest } from '../../scope/requests/resolve-request.ts';
import { explainDenial } from '../gate/authorise.ts';
import { isExtendedRead } from '../gate/extended-reads.ts';
import { forward } from '../proxy/forward.ts';
import { withoutHeaders } from '../proxy/request-headers.ts';
import { readAccept } from './accepted-form.ts';
import { ask } from './ask.ts';
import { eachInTurn } from './each-in-turn.ts';
import { answerFailure, type Endpoint, type EndpointRequest, type EndpointServices } from './endpoint.ts';
import type { Holding } from './held-bytes.ts';
import { InstanceUses } from './instance-uses.ts';
import { listByProject } from './instances-by-project.ts';
import { sendObject } from './object-answer.ts';
import { aboutBody } from './own-request.ts';
import { Refusal, refuse } from './refusal.ts';
import { tooManyBytes } from './request-body.ts';

/** Bytes of one answer: some thousand instances. */
const ofList = 2 ** 23;
/** No API server stores more. */
const ofObject = 2 ** 21;

/**
 * A get or a list of instances with `extended=true`: each of them says in `status.canUse` whether the sender may enter it. Clients that
 * ask for that show no others. Undefined for every other request. `plain` answers where the client wants another form than whole objects.
 */
export function extendedInstances(
  asked: ResolvedRequest,
  services: EndpointServices,
  plain: Endpoint | undefined,
): Endpoint | undefined {
  if (!isExtendedRead(asked)) return undefined;
  return async (request) => {
    const form = readAccept(request.request.headers.accept);
    const problem = explainDenial(request.sender.verdict, asked, { isPlatform: true });
    try {
      if (form === undefined || form.isTable || form.isMetadata) {
        // The gate lets it pass for a list of each project alone.
        if (problem !== undefined) refuse('ERR_SCOPE', { problem });
        return plain === undefined ? forward(request) : plain(request);
      }
      await answer(request, services, problem === undefined);
    } catch (error) {
      answerFailure(request, error as Error);
    }
  };
}

async function answer(
  request: EndpointRequest,
  services: EndpointServices,
  isInScope: boolean,
): Promise<void> {
  const { sender, asked } = request;
  const held = services.held.hold(sender.verdict.identity.user);
  request.onOver(() => held.release());
  const read = isInScope ? await readInstances(request, held) : undefined;
  const isRefused = read === undefined || (read.status === 403 && asked.allNamespaces);
  const byProject = isRefused ? await listByProject(request, services, held) : undefined;
  const object = byProject ?? asObject(parseJSON(read?.body ?? '{}'));
  if (byProject === undefined && read?.status !== 200) return refuseAll(request, read?.status, object);
  const uses = new InstanceUses(request, services, asked.resource);
  const extended = asked.verb === 'get' ? await extend(object, uses) : await extendAll(request, object, uses);
  sendObject(request, 200, extended, uses.isCutShort ? { warning: cutShort } : {});
}

/** As the API server does, or where it was not asked because of the scope. */
function refuseAll(request: EndpointRequest, status: number | undefined, body: JsonObject): void {
  if (status !== undefined) return sendObject(request, status, body);
  const problem = explainDenial(request.sender.verdict, request.asked, { isPlatform: true }) ?? '';
  refuse('ERR_SCOPE', { problem });
}

/** As the user may read them, without what the scope refuses by name. Throws a Refusal. */
async function readInstances(request: EndpointRequest, held: Holding): Promise<RawResponse> {
  const maxBytes = request.asked.verb === 'get' ? ofObject : ofList;
  // First: many such answers at once would fill the memory before each of them is counted.
  if (!held.take(maxBytes)) throw new Refusal(tooManyBytes);
  const { send, asked, sender } = request;
  const narrowing = narrowingOf(sender.verdict.gates, asked);
  const headers = [
    ...withoutHeaders(send.headers, (name) => aboutBody.has(name)),
    ...['accept', 'application/json'],
  ];
  const path = narrowing === undefined ? send.path : narrowQuery(send.path, narrowing);
  const answer = await ask(request, { method: 'GET', path, headers, maxBytes });
  held.giveBack(maxBytes - answer.body.length);
  return answer;
}

async function extendAll(
  request: EndpointRequest,
  list: JsonObject,
  uses: InstanceUses,
): Promise<JsonObject> {
  const items: JsonObject[] = [];
  const found = Array.isArray(list['items']) ? list['items'].filter(isObject) : [];
  await eachInTurn(request, found, async (item) => {
    items.push(await extend(item, uses));
  });
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
