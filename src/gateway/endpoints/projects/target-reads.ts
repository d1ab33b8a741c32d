import type { JsonObject } from '../../../api/json.ts';
import { apiVersion } from '../../../api/names.ts';
import type { Resource } from '../../../api/resources.ts';
import { keyOf } from '../../../kube/object.ts';
import type { ResolvedRequest } from '../../../scope/requests/resolve-request.ts';
import { isTargetRead } from '../../gate/answered-reads.ts';
import { explainDenial } from '../../gate/authorise.ts';
import { warningOf } from '../../server/warning.ts';
import {
  type Endpoint,
  type EndpointRequest,
  type EndpointServices,
  holdFor,
  queryOf,
} from '../shared/endpoint.ts';
import {
  checkListOptions,
  fieldFilter,
  labelFilter,
  metadataOf,
  type ObjectFilter,
  readAccept,
} from '../shared/list-options.ts';
import { answerFailure, refuse, sendObject } from '../shared/reply.ts';
import { type PagePlace, readPage, readTarget, type TargetPage } from './target-pages.ts';
import { targetTable } from './target-table.ts';
import { watchTargets } from './target-watch.ts';
import { asJSON, type TargetQuestion, targetResources, UsableTargets } from './usable-targets.ts';

/**
 * A get, a list or a watch of targets. Who may send it to the API server gets its answer. All others see the targets that they may use
 * and that their scope names. Undefined for every other request.
 */
export function targetReads(
  asked: ResolvedRequest,
  services: EndpointServices,
  plain: Endpoint | undefined,
): Endpoint | undefined {
  const resource = isTargetRead(asked) ? targetResources.get(asked.resource) : undefined;
  if (resource === undefined) return undefined;
  return async (request) => {
    try {
      if (await mayRead(request, services)) return await (plain ?? passOn)(request);
      await answer(request, services, resource);
    } catch (error) {
      answerFailure(request, error as Error);
    }
  };
}

/** A watch may run for hours, and its credential be given another scope. What has ended is cut. */
function presentSender(
  request: EndpointRequest,
  { index }: Pick<EndpointServices, 'index'>,
): EndpointRequest {
  const { sender } = request;
  return {
    ...request,
    get sender() {
      const verdict = index.find(sender.hash);
      return verdict !== undefined && 'record' in verdict ? { ...sender, verdict } : sender;
    },
  };
}

const passOn: Endpoint = async (request) => request.passOn();

/** As the request stands: by its scopes, and by RBAC. */
async function mayRead(
  { sender, asked }: EndpointRequest,
  { permissions }: EndpointServices,
): Promise<boolean> {
  if (explainDenial(sender.verdict, asked, { isPlatform: true }) !== undefined) return false;
  const { verb, resource, namespace, name } = asked;
  return await permissions.isAllowed(sender.verdict.identity, { verb, resource, namespace, name });
}

async function answer(
  request: EndpointRequest,
  services: EndpointServices,
  resource: Resource,
): Promise<void> {
  const { asked } = request;
  const form = readAccept(request.request.headers.accept) ?? refuse('ERR_NOT_ACCEPTABLE', {});
  if (asked.verb === 'watch') {
    const usable = new UsableTargets(presentSender(request, services), services, resource);
    return await watchTargets(request, services, { resource, form, usable });
  }
  const usable = new UsableTargets(request, services, resource);
  if (asked.verb === 'list') return await sendList(request, services, { resource, form, usable });
  if (!(await usable.includes(keyOf(asked)))) return refuseGet(request);
  const { namespace, name } = asked;
  const found = await readTarget(request, { resource, namespace, name }, holdFor(request, services.held));
  // It has gone since: the API server says so, to who may use it.
  if (found === undefined) return request.passOn();
  const object = asJSON(found);
  const included = queryOf(request).get('includeObject');
  if (form.isTable)
    return sendObject(
      request,
      200,
      targetTable([object], { plural: resource.plural, included, now: request.clock.now() }),
    );
  sendObject(request, 200, form.isMetadata ? metadataOf(object) : object);
}

/** With the scope as the reason where that says no, and else as the API server has it. */
function refuseGet(request: EndpointRequest): void {
  const problem = explainDenial(request.sender.verdict, request.asked, { isPlatform: true });
  if (problem !== undefined) refuse('ERR_SCOPE', { problem });
  request.passOn();
}

/** Of an answer of the API server: others have turns in between. */
const pageSize = 100;
/** Of one answer: some thousand targets. */
const maxBytes = 2 ** 23;

async function sendList(
  request: EndpointRequest,
  services: EndpointServices,
  { resource, form, usable }: TargetQuestion,
): Promise<void> {
  const query = queryOf(request);
  const selects = readSelectors(query);
  const { namespace } = request.asked;
  const keys = await usable.find(namespace);
  const held = holdFor(request, services.held);
  const found: JsonObject[] = [];
  let size = 0;
  let page: TargetPage | undefined;
  do {
    // A page that was too large is followed by others of its kind.
    const { limit, next }: PagePlace = page ?? { limit: keys.size === 0 ? 1 : pageSize };
    page = await readPage(request, { resource, namespace }, { limit, next, held });
    const kept = page.items
      .filter(({ metadata }) => keys.has(keyOf(metadata)))
      .map(asJSON)
      .filter(selects);
    const bytes = JSON.stringify(kept).length;
    size += bytes;
    if (size > maxBytes)
      refuse('ERR_QUERY', { problem: 'the list is too large for one answer; ask for one project' });
    held.giveBack(Math.max(0, page.bytes - bytes));
    found.push(...kept);
    await request.turn();
  } while (page.next !== '' && keys.size > 0);
  const metadata = { resourceVersion: page.resourceVersion };
  const headers = usable.isCutShort ? { warning: warningOf(cutShort) } : {};
  sendObject(request, 200, listOf(found, { resource, form, metadata, request }), headers);
}

const cutShort =
  'there are too many targets to ask about each of them: some that you may use are missing; ask for one project';

interface ListParts extends Pick<TargetQuestion, 'resource' | 'form'> {
  readonly metadata: JsonObject;
  readonly request: EndpointRequest;
}

function listOf(found: readonly JsonObject[], { resource, form, metadata, request }: ListParts): JsonObject {
  const included = queryOf(request).get('includeObject');
  const { plural } = resource;
  if (form.isTable) return targetTable(found, { plural, included, now: request.clock.now(), metadata });
  if (!form.isMetadata) return { kind: `${resource.kind}List`, apiVersion, metadata, items: found };
  const items = found.map(metadataOf);
  return { kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1', metadata, items };
}

/** Throws a Refusal. All comes in one page, whatever limit is asked for. */
function readSelectors(query: URLSearchParams): ObjectFilter {
  checkListOptions(query, false);
  if ((query.get('continue') ?? '') !== '') refuse('ERR_QUERY', { problem: 'this list has one page' });
  const ofLabels = labelFilter(query.get('labelSelector') ?? '');
  if (ofLabels === undefined) return refuse('ERR_QUERY', { problem: 'labelSelector cannot be read' });
  const ofFields = fieldFilter(query.get('fieldSelector') ?? '', selectable);
  if (ofFields === undefined)
    return refuse('ERR_QUERY', {
      problem: 'fieldSelector names another field than metadata.name and metadata.namespace',
    });
  return (object) => ofLabels(object) && ofFields(object);
}

const selectable: ReadonlySet<string> = new Set(['metadata.name', 'metadata.namespace']);
