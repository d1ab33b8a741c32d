import { asObject, isObject, parseJSON } from '../../../api/json.ts';
import { apiServices } from '../../../api/resources.ts';
import { objectPath } from '../../../kube/resource-path.ts';
import { type Narrowing, narrowingOf, narrowQuery } from '../../../scope/gate/narrowing.ts';
import type { RequestMeaning } from '../../../scope/requests/resolve-request.ts';
import { selectsByNamespace } from '../../../scope/requests/resource-tables.ts';
import type { Verdict } from '../../index/verdict.ts';
import { forward } from '../../proxy/forward.ts';
import { ask, headersInPlace, reader } from '../shared/ask.ts';
import type { Endpoint, EndpointRequest, EndpointServices } from '../shared/endpoint.ts';
import { answerFailure, refuse } from '../shared/reply.ts';

/**
 * Passes on a list or a watch of the platform that goes through all namespaces, so that it shows nothing that the scope refuses by
 * name. Undefined where there is nothing to leave out.
 */
export function narrowedList(
  { gates }: Pick<Verdict, 'gates'>,
  asked: RequestMeaning,
  services: Pick<EndpointServices, 'platform'>,
): Endpoint | undefined {
  const narrowing = narrowingOf(gates, asked);
  if (narrowing === undefined) return undefined;
  return async (request) => {
    try {
      const isNarrowed = selectsByNamespace(asked.apiGroup) || (await hasNamespaces(request, services));
      if (!request.response.destroyed) pass(request, isNarrowed ? narrowing : undefined);
    } catch (error) {
      answerFailure(request, error as Error);
    }
  };
}

const pass = (request: EndpointRequest, narrowing: Narrowing | undefined): void => {
  const { send } = request;
  forward(
    narrowing === undefined
      ? request
      : { ...request, send: { ...send, path: narrowQuery(send.path, narrowing) } },
  );
};

/** Of what the API server says of one API. One user may have many such questions under way. */
const maxBytes = 2 ** 20;

/**
 * Whether objects of this resource have a namespace: of others the API server refuses to select by it. Throws a Refusal where another
 * server answers for the group, because that may take no notice of a selector.
 */
async function hasNamespaces(
  request: EndpointRequest,
  { platform: upstream }: Pick<EndpointServices, 'platform'>,
): Promise<boolean> {
  const { apiGroup, apiVersion } = request.asked;
  if (await isClusterScoped(request)) return false;
  const headers = ['accept', 'application/json', ...reader];
  const path = objectPath(apiServices, { name: `${apiVersion}.${apiGroup}` });
  const { status, body } = await ask({ ...request, upstream }, { method: 'GET', path, headers, maxBytes });
  if (status !== 200 && status !== 404) throw new Error(`the reader got ${status}`);
  const { service } = asObject(asObject(parseJSON(body))['spec']);
  if (!isObject(service)) return true;
  return refuse('ERR_SCOPE', { problem: explainAggregated(request.asked) });
}

/** As the API server says in its discovery document. */
async function isClusterScoped(request: EndpointRequest): Promise<boolean> {
  const { apiGroup, apiVersion, resource } = request.asked;
  const headers = headersInPlace(request);
  const path = `/apis/${apiGroup}/${apiVersion}`;
  const { status, body } = await ask(request, { method: 'GET', path, headers, maxBytes });
  if (status >= 500) throw new Error(`the API server answered with ${status}`);
  const resources = asObject(parseJSON(body))['resources'];
  const found = (Array.isArray(resources) ? resources : [])
    .map(asObject)
    .find(({ name }) => name === resource);
  return status === 200 && found?.['namespaced'] === false;
}

const explainAggregated = ({ verb, resource, apiGroup }: RequestMeaning): string =>
  `cannot ${verb} ${JSON.stringify(resource)} of the group ${JSON.stringify(apiGroup)} in all namespaces: another API server ` +
  'answers for this group, and its answer could show namespaces that the scope refuses; ask for one namespace at a time';
