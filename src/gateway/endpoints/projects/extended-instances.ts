import { asObject, asText, isObject, type JsonObject, parseJSON } from '../../../api/json.ts';
import { apiVersion } from '../../../api/names.ts';
import { spaceInstances, virtualClusterInstances } from '../../../api/resources.ts';
import type { RawResponse } from '../../../kube/client/response-collector.ts';
import type { AccessQuestion } from '../../../platform/access-review.ts';
import { authorise } from '../../../scope/gate/authorise.ts';
import { narrowingOf, narrowQuery } from '../../../scope/gate/narrowing.ts';
import type { RequestTarget } from '../../../scope/request-path.ts';
import type { ResolvedRequest } from '../../../scope/requests/resolve-request.ts';
import { aboutProjects, isExtendedRead } from '../../gate/answered-reads.ts';
import { explainDenial } from '../../gate/authorise.ts';
import { forward } from '../../proxy/forward.ts';
import { headersInPlace } from '../shared/ask.ts';
import { askWithin } from '../shared/ask-within.ts';
import {
  type Endpoint,
  type EndpointRequest,
  type EndpointServices,
  eachInTurn,
  holdFor,
  queryOf,
} from '../shared/endpoint.ts';
import type { Holding } from '../shared/held-bytes.ts';
import { readAccept } from '../shared/list-options.ts';
import { answerFailure, refuse, sendObject } from '../shared/reply.ts';
import { findProjects, type Project } from './project-rights.ts';
import { isTargetInScope } from './usable-targets.ts';

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
  const { asked } = request;
  const held = holdFor(request, services.held);
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
  const { send, asked, sender } = request;
  const narrowing = narrowingOf(sender.verdict.gates, asked);
  const headers = headersInPlace(request);
  const path = narrowing === undefined ? send.path : narrowQuery(send.path, narrowing);
  const answer = await askWithin(request, { method: 'GET', path, headers, maxBytes }, held);
  return answer ?? refuse('ERR_QUERY', { problem: tooLarge });
}

const tooLarge = 'the answer is too large; ask for one project, or for one instance';

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
  const shown = uses.isOfVirtualClusters ? withName(spec, asText(name)) : spec;
  return { ...instance, spec: shown, status: { ...asObject(instance['status']), canUse } };
}

/** Their lists print this field as the name. */
function withName(spec: JsonObject, name: string | undefined): JsonObject {
  const clusterRef = asObject(spec['clusterRef']);
  return { ...spec, clusterRef: { ...clusterRef, virtualCluster: clusterRef['virtualCluster'] || name } };
}

const cutShort =
  '299 - "there are too many instances to ask about each of them: some say canUse false; ask for one project"';

type Services = Pick<EndpointServices, 'targetRecords' | 'permissions'>;

/** Of one answer. Who may use all instances of a namespace, or all there are, needs one question for them. */
const maxAsked = 500;
/** Whether the sender of a request may enter instances of one kind: the same as at the gate, when it enters one of them. */
class InstanceUses {
  readonly #request: Pick<EndpointRequest, 'sender'>;
  readonly #services: Services;
  readonly #resource: string;
  /** Answers of this request, by namespace and name. */
  readonly #known = new Map<string, Promise<boolean>>();
  #isCutShort = false;

  constructor(request: Pick<EndpointRequest, 'sender'>, services: Services, resource: string) {
    this.#request = request;
    this.#services = services;
    this.#resource = resource;
  }

  get isOfVirtualClusters(): boolean {
    return this.#resource === virtualClusterInstances.plural;
  }

  /** Whether some were not asked about. */
  get isCutShort(): boolean {
    return this.#isCutShort;
  }

  async isAllowed(namespace: string, name: string): Promise<boolean> {
    const project = this.#services.targetRecords.findProject(namespace);
    if (
      project === undefined ||
      !isTargetInScope(this.#request.sender.verdict, this.#targetOf(project, name))
    )
      return false;
    return (
      (await this.#mayUse('', '')) ||
      (await this.#mayUse(namespace, '')) ||
      (await this.#mayUse(namespace, name))
    );
  }

  #targetOf(project: string, name: string): RequestTarget {
    return this.#resource === spaceInstances.plural
      ? { kind: 'space', project, space: name }
      : { kind: 'virtualCluster', project, virtualCluster: name };
  }

  async #mayUse(namespace: string, name: string): Promise<boolean> {
    const key = `${namespace}/${name}`;
    const known = this.#known.get(key);
    if (known !== undefined) return await known;
    if (this.#known.size >= maxAsked) {
      this.#isCutShort = true;
      return false;
    }
    const entry: AccessQuestion = { verb: 'use', resource: this.#resource, namespace, name };
    const { identity } = this.#request.sender.verdict;
    const answer = this.#services.permissions.isAllowed(identity, entry);
    this.#known.set(key, answer);
    return await answer;
  }
}

/** Each is a request of its own to the API server. */
const maxProjects = 100;
const atOnce = 4;
/** Of one of these lists. */
const maxBytes = 2 ** 20;

/**
 * The instances of each project that the sender may see and list them in: for those who may not list all namespaces at once. Each
 * list is judged by itself, by every scope and by the API server. Undefined where there is no such project. Throws a Refusal.
 */
async function listByProject(
  request: EndpointRequest,
  services: EndpointServices,
  held: Holding,
): Promise<JsonObject | undefined> {
  const visible = await findProjects(
    { ...request, asked: { ...request.asked, ...aboutProjects(request.asked) } },
    services,
  );
  const projects = visible.filter(({ namespace }) => isInScope(request, namespace));
  if (projects.length === 0) return undefined;
  if (projects.length > maxProjects) refuse('ERR_QUERY', { problem: tooManyProjects });
  const query = passedQuery(request);
  const items: JsonObject[] = [];
  for (let index = 0; index < projects.length && !request.response.destroyed; index += atOnce) {
    const batch = projects.slice(index, index + atOnce);
    const lists = await Promise.all(
      batch.map(async (project) => await listIn(request, project, { query, held })),
    );
    items.push(...lists.flat());
  }
  const isSpace = request.asked.resource === spaceInstances.plural;
  const { kind } = isSpace ? spaceInstances : virtualClusterInstances;
  return { kind: `${kind}List`, apiVersion, metadata: {}, items };
}

const tooManyProjects = `there are more than ${maxProjects} projects, each with a list of its own; ask for one project`;

const isInScope = ({ sender, asked }: EndpointRequest, namespace: string): boolean =>
  authorise({
    gates: sender.verdict.gates,
    request: { ...asked, namespace, allNamespaces: false },
    place: { isPlatform: true },
  }).allowed;

/** The parts of one list that there is no next page of. */
function passedQuery(request: EndpointRequest): string {
  const sent = queryOf(request);
  if ((sent.get('continue') ?? '') !== '') refuse('ERR_QUERY', { problem: 'this list has one page' });
  const kept = new URLSearchParams();
  for (const name of ['labelSelector', 'fieldSelector'])
    if (sent.has(name)) kept.set(name, sent.get(name) ?? '');
  return kept.size === 0 ? '' : `?${kept}`;
}

async function listIn(
  request: EndpointRequest,
  { namespace }: Project,
  { query, held }: { readonly query: string; readonly held: Holding },
): Promise<readonly JsonObject[]> {
  const headers = headersInPlace(request);
  const path = `/apis/${apiVersion}/namespaces/${namespace}/${request.asked.resource}${query}`;
  const answer = await askWithin(request, { method: 'GET', path, headers, maxBytes }, held);
  if (answer === undefined) return refuse('ERR_QUERY', { problem: tooLarge });
  // To see a project is not to see what is in it.
  if (answer.status === 403 || answer.status === 404) return [];
  if (answer.status !== 200) throw new Error(`the API server answered with ${answer.status}`);
  const { items } = asObject(parseJSON(answer.body));
  return Array.isArray(items) ? items.filter(isObject) : [];
}
