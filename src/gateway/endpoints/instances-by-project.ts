import { asObject, isObject, type JsonObject, parseJSON } from '../../api/json.ts';
import { apiVersion } from '../../api/names.ts';
import { spaceInstances, virtualClusterInstances } from '../../api/resources.ts';
import { authorise } from '../../scope/gate/authorise.ts';
import { aboutProjects } from '../gate/extended-reads.ts';
import { withoutHeaders } from '../proxy/request-headers.ts';
import { ask } from './ask.ts';
import { type EndpointRequest, type EndpointServices, queryOf } from './endpoint.ts';
import type { Holding } from './held-bytes.ts';
import { aboutBody } from './own-request.ts';
import { findProjects, type Project } from './project-rights.ts';
import { Refusal, refuse } from './refusal.ts';
import { tooManyBytes } from './request-body.ts';

/** Each is a request of its own to the API server. */
const maxProjects = 100;
const atOnce = 4;
/** Of one of these lists. */
const maxBytes = 2 ** 20;

/**
 * The instances of each project that the sender may see and list them in: for those who may not list all namespaces at once. Each
 * list is judged by itself, by every scope and by the API server. Undefined where there is no such project. Throws a Refusal.
 */
export async function listByProject(
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
  const headers = [
    ...withoutHeaders(request.send.headers, (name) => aboutBody.has(name)),
    ...['accept', 'application/json'],
  ];
  const path = `/apis/${apiVersion}/namespaces/${namespace}/${request.asked.resource}${query}`;
  if (!held.take(maxBytes)) throw new Refusal(tooManyBytes);
  const answer = await ask(request, { method: 'GET', path, headers, maxBytes });
  held.giveBack(maxBytes - answer.body.length);
  // To see a project is not to see what is in it.
  if (answer.status === 403 || answer.status === 404) return [];
  if (answer.status !== 200) throw new Error(`the API server answered with ${answer.status}`);
  const { items } = asObject(parseJSON(answer.body));
  return Array.isArray(items) ? items.filter(isObject) : [];
}
