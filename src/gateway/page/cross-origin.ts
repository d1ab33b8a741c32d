import type { IncomingMessage, ServerResponse } from 'node:http';
import { apiVersion } from '../../api/names.ts';
import { credentialLocks, credentialResources, virtualClusterInstances } from '../../api/resources.ts';
import { apiPrefix } from '../../scope/request-path.ts';
import { resourceMetadataPath } from '../endpoints/resource-metadata.ts';
import { leaveRest } from '../server/error-answer.ts';

/** Lets the page of people call the gateway from its own origin, and no other page. */
export class CrossOrigin {
  readonly #origin: string;

  /** `origin`: of the page, as browsers write it. */
  constructor(origin: string) {
    this.#origin = origin;
  }

  /**
   * Adds to the answer what the browser of the page has to read. True: it was a preflight, and is answered. Requests of other origins and
   * for other paths stay as they are, so browsers keep their answers from other pages. `path` is that below the base URL.
   */
  answer({ method = '', headers }: IncomingMessage, response: ServerResponse, path: string): boolean {
    const methods = methodsOf(path);
    if (methods === undefined) return false;
    // Caches must not give one origin what was meant for another.
    response.setHeader('vary', 'origin');
    if (headers.origin !== this.#origin) return false;
    const isPreflight = method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
    if (!isPreflight && !methods.includes(method)) return false;
    response.setHeader('access-control-allow-origin', this.#origin);
    if (!isPreflight) {
      response.setHeader('access-control-expose-headers', 'retry-after, warning');
      return false;
    }
    leaveRest(response);
    response.writeHead(204, { ...preflightHeaders, 'access-control-allow-methods': methods.join(', ') });
    response.end();
    return true;
  }
}

/** Without `access-control-allow-credentials`: a browser adds nothing to a request that the page did not write. */
const preflightHeaders = {
  'access-control-allow-headers': 'authorization, content-type',
  'access-control-max-age': '600',
  'content-length': '0',
};

/** No percent sign: what could be read in two ways is none of them. */
const name = '[a-z0-9][a-z0-9.-]*';
const { OwnedAccessKey, DirectClusterEndpointToken, VirtualClusterInstanceKubeConfig } = credentialResources;
const ofCluster = [OwnedAccessKey, DirectClusterEndpointToken].map(({ plural }) => plural).join('|');
const management = `${apiPrefix}/management/apis/${apiVersion}`;

/** Requests of a page about one's own credentials, and what administrators see. No path of a target is among them. */
const paths: readonly (readonly [form: RegExp, methods: readonly string[]])[] = [
  [/^\/oauth\/token$/, ['POST']],
  [exactly(resourceMetadataPath), ['GET']],
  [exactly(`${management}/selves`), ['POST']],
  [exactly(`${management}/(?:${ofCluster})`), ['GET', 'POST']],
  [exactly(`${management}/${credentialLocks.plural}`), ['GET']],
  [exactly(`${management}/(?:${ofCluster})/${name}`), ['GET', 'PATCH', 'DELETE']],
  [exactly(`${management}/${VirtualClusterInstanceKubeConfig.plural}`), ['GET']],
  [
    exactly(`${management}/namespaces/${name}/${VirtualClusterInstanceKubeConfig.plural}/${name}`),
    ['GET', 'PATCH', 'DELETE'],
  ],
  [
    exactly(`${management}/namespaces/${name}/${virtualClusterInstances.plural}/${name}/kubeconfig`),
    ['POST'],
  ],
];

function exactly(form: string): RegExp {
  return new RegExp(`^${form}$`);
}

function methodsOf(path: string): readonly string[] | undefined {
  const [plain = ''] = path.split('?', 1);
  return paths.find(([form]) => form.test(plain))?.[1];
}
