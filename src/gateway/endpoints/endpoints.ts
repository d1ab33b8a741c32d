import { group } from '../../api/names.ts';
import { issuerDocuments } from '../../credentials/tokens/discovery.ts';
import { liveCredentials } from '../../scope/gate/agents.ts';
import type { TargetLocation } from '../../scope/gate/authorise.ts';
import { isCredentialRequest } from '../../scope/gate/sensitive.ts';
import type { RequestMeaning, ResolvedRequest } from '../../scope/requests/resolve-request.ts';
import { version } from '../../version.ts';
import { credentialKind, isNamespaceMade } from '../gate/authorise.ts';
import type { Verdict } from '../index/verdict.ts';
import { hasBody } from '../server/error-answer.ts';
import { discoveryEndpoints } from './discovery/discovery.ts';
import { KubeConfigs } from './kubeconfig/kubeconfigs.ts';
import { streamCredentials } from './live-credentials/stream-credentials.ts';
import { credentialEndpoints } from './own/endpoints.ts';
import { extendedInstances } from './projects/extended-instances.ts';
import { narrowedList } from './projects/narrowed-lists.ts';
import { projectEndpoints } from './projects/projects.ts';
import { spaceNamespace } from './projects/space-namespace.ts';
import { targetReads } from './projects/target-reads.ts';
import { publicDocument } from './public-document.ts';
import { resourceMetadata, resourceMetadataPath } from './resource-metadata.ts';
import { answerReview, tokenReviews } from './reviews.ts';
import { selves } from './selves.ts';
import {
  type Endpoint,
  type EndpointServices,
  type Exchange,
  everyVerb,
  type PublicEndpoint,
} from './shared/endpoint.ts';

/** By question: see {@link questionOf}. */
type EndpointTable = Readonly<Record<string, Endpoint>>;

/** In every target. */
export const everywhere = (
  services: Pick<EndpointServices, 'yaml' | 'permissions' | 'settings' | 'targetRecords'>,
): EndpointTable => ({
  'create selfsubjectaccessreviews.authorization.k8s.io': answerReview(services),
  'create selfsubjectrulesreviews.authorization.k8s.io': answerReview(services),
  'create tokenreviews.authentication.k8s.io': tokenReviews(services),
});

/** Only where the target is the platform itself. */
const onPlatform = (services: EndpointServices): EndpointTable => ({
  ...Object.fromEntries(everyVerb.map((verb) => [`${verb} selves.${group}`, selves(services)])),
  [`get clusters/${liveCredentials}.${group}`]: streamCredentials(services),
  [`create virtualclusterinstances/kubeconfig.${group}`]: new KubeConfigs(services).answer,
  ...discoveryEndpoints(),
  ...projectEndpoints(services),
  ...credentialEndpoints(services),
});

/** By path below the base URL. */
function withoutCredential(services: EndpointServices): Readonly<Record<string, PublicEndpoint>> {
  const { issuer, settings } = services;
  const ofIssuer = (path: string) => publicDocument(() => issuer.find(path), services);
  const metadata = resourceMetadata(settings);
  return {
    '/oauth/token': services.exchange,
    '/version': { methods: ['GET'], answer: sendVersion },
    [issuerDocuments.discovery.path]: ofIssuer(issuerDocuments.discovery.path),
    [issuerDocuments.keySet.path]: ofIssuer(issuerDocuments.keySet.path),
    [resourceMetadataPath]: publicDocument(() => metadata, services),
  };
}

/** Requests that the gateway answers itself. All others are forwarded. */
export class Endpoints {
  readonly #everywhere: ReadonlyMap<string, Endpoint>;
  readonly #onPlatform: ReadonlyMap<string, Endpoint>;
  readonly #withoutCredential: ReadonlyMap<string, PublicEndpoint>;
  /** Nearly every request is for another group, and costs no text. */
  readonly #groups: ReadonlySet<string>;
  readonly #services: EndpointServices;
  readonly #spaceNamespace: Endpoint;

  constructor(services: EndpointServices) {
    this.#services = services;
    this.#spaceNamespace = spaceNamespace(services);
    const shared = everywhere(services);
    this.#everywhere = new Map(Object.entries(shared));
    this.#onPlatform = new Map(Object.entries({ ...shared, ...onPlatform(services) }));
    this.#withoutCredential = new Map(Object.entries(withoutCredential(services)));
    this.#groups = new Set([...this.#onPlatform.keys()].map(groupOf));
  }

  find(asked: RequestMeaning, { isPlatform }: Pick<TargetLocation, 'isPlatform'>): Endpoint | undefined {
    if (isNamespaceMade(asked)) return this.#spaceNamespace;
    if (asked.isResourceRequest && !this.#groups.has(asked.apiGroup)) return undefined;
    const table = asked.target.kind === 'management' ? this.#onPlatform : this.#everywhere;
    // A credential request without an endpoint must not reach the API server: administrators hold keys too, and it would show all.
    const isOfPlatform = isPlatform && isCredentialRequest(asked);
    return table.get(questionOf(asked)) ?? (isOfPlatform ? refuseCredentials : undefined);
  }

  /** For a request to the API server of the platform, by whatever way, that no other endpoint answers. */
  findOnPlatform(asked: ResolvedRequest, verdict: Verdict): Endpoint | undefined {
    const narrowed = narrowedList(verdict, asked, this.#services);
    return (
      extendedInstances(asked, this.#services, narrowed) ??
      targetReads(asked, this.#services, narrowed) ??
      narrowed
    );
  }

  /** `path` is that below the base URL, with the query. */
  findPublic(method: string, path: string): PublicEndpoint | undefined {
    const endpoint = this.#withoutCredential.get(path);
    return endpoint?.methods.includes(method) ? endpoint : undefined;
  }
}

/** `get pods/log.<group>` for a resource, `get /openapi/v3` for any other path. */
export function questionOf({
  isResourceRequest,
  verb,
  path,
  resource,
  subresource,
  apiGroup,
}: RequestMeaning): string {
  if (!isResourceRequest) return `${verb} ${path.replace(/(?<=.)\/$/, '')}`;
  return `${verb} ${subresource === '' ? resource : `${resource}/${subresource}`}.${apiGroup}`;
}

const refuseCredentials: Endpoint = async ({ refuse }) => refuse(credentialKind);

const groupOf = (question: string): string => question.replace(/^[^.]*\./, '');

function sendVersion({ request, response }: Exchange): undefined {
  if (hasBody(request)) response.shouldKeepAlive = false;
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ version }));
}
