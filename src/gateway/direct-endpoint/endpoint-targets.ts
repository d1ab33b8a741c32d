import { clusters, spaceInstances } from '../../api/resources.ts';
import type { AccessQuestion } from '../../platform/access-review.ts';
import { projectOfNamespace, type RequestTarget } from '../../scope/request-path.ts';
import type { FoundTarget } from '../proxy/targets.ts';
import type { Upstream } from '../proxy/upstream.ts';
import type { FollowedCredentials } from './followed-credentials.ts';

export interface EndpointTargetsOptions {
  readonly cluster: string;
  readonly followed: Pick<FollowedCredentials, 'findSpace' | 'set'>;
  readonly upstream: Upstream;
  readonly projectNamespacePrefix: string;
}

/** The targets of a direct endpoint: its own cluster and the spaces in it. All others are none. */
export class EndpointTargets {
  readonly #options: EndpointTargetsOptions;

  constructor(options: EndpointTargetsOptions) {
    this.#options = options;
  }

  find(target: RequestTarget): FoundTarget | undefined {
    const { cluster, followed, upstream } = this.#options;
    const uid = followed.set?.uid ?? '';
    const entry = this.entryOf(target);
    if (entry === undefined) return undefined;
    // It does not serve where it finds the platform itself, so users are as free here as in every connected cluster.
    const found = { upstream, isPlatform: false, groups: [], entry };
    if (target.kind === 'cluster') return target.cluster === cluster ? { ...found, uids: uid } : undefined;
    const space = target.kind === 'space' ? followed.findSpace(target.project, target.space) : undefined;
    return space && { ...found, uids: `${space.uid} ${uid}`, namespace: space.namespace };
  }

  /** The UID of the space that it is about. Undefined where no such space is in this cluster. */
  readonly spaceUID = ({ namespace = '', name }: AccessQuestion): string | undefined => {
    const { followed, projectNamespacePrefix: prefix } = this.#options;
    const project = projectOfNamespace(namespace, prefix);
    return project === undefined ? undefined : followed.findSpace(project, name)?.uid;
  };

  entryOf(target: RequestTarget): AccessQuestion | undefined {
    const { cluster, projectNamespacePrefix: prefix } = this.#options;
    switch (target.kind) {
      case 'cluster':
        return target.cluster === cluster ? entryTo(clusters.plural, '', cluster) : undefined;
      case 'space':
        return entryTo(spaceInstances.plural, prefix + target.project, target.space);
      case 'management':
      case 'virtualCluster':
        return undefined;
    }
  }
}

const entryTo = (resource: string, namespace: string, name: string): AccessQuestion => ({
  ...{ verb: 'use', resource, namespace, name },
});

/** First segments of paths that every API server has. */
const apiSegments: ReadonlySet<string> = new Set([
  'api',
  'apis',
  'version',
  'openapi',
  'healthz',
  'livez',
  'readyz',
  'metrics',
  'logs',
  '.well-known',
]);

/** `/kubernetes/cluster` is the own cluster too, as clients know it from other direct endpoints. */
export function withOwnCluster(path: string, cluster: string): string {
  const match = /^\/kubernetes\/cluster(?:\/([^/?]*))?(?=[/?]|$)/.exec(path);
  if (match === null || match[1] === cluster) return path;
  const isOwn = match[1] === undefined || match[1] === '' || apiSegments.has(match[1]);
  return isOwn ? path.replace('/kubernetes/cluster', `/kubernetes/cluster/${cluster}`) : path;
}
