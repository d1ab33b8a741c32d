import { scopedAudienceSuffix } from '../api/names.ts';
import {
  agentClusters,
  entriesOf,
  hasPlatformCli,
  hasPlatformRole,
  type RawScope,
} from './effective-scope.ts';
import { formatTarget, isObjectName } from './request-path.ts';

export interface AudienceRequest {
  /** The base URL, without a slash at the end. */
  readonly issuer: string;
  /** The token's own effective scope; `undefined`: no narrowing. */
  readonly own: RawScope | undefined;
  /** The effective scopes of all ancestors. A request must pass each of them. */
  readonly ancestors: readonly (RawScope | undefined)[];
  /** `spec.allowPlatformCli` (deprecated); it adds the platform's own audience also where there is no scope. */
  readonly allowPlatformCli: boolean;
}

/**
 * Where a token may be used, made from names only. `<issuer>/cluster/<name>` for each cluster that all scopes allow by name, or
 * `<issuer>/clusters` when none of them names clusters only; `<issuer>` with the role `platform-cli`, unless an ancestor
 * cannot reach the platform at all. Empty: nowhere.
 */
export function audiencesOf({
  issuer,
  own,
  ancestors,
  allowPlatformCli,
}: AudienceRequest): readonly string[] {
  const reach = [own, ...ancestors].map(clustersOf).reduce(intersection);
  const clusters =
    reach === 'all'
      ? [`${issuer}/clusters`]
      : [...reach].sort().map((cluster) => `${issuer}${formatTarget({ kind: 'cluster', cluster })}`);
  const asksForPlatform = allowPlatformCli || (own !== undefined && hasPlatformCli(own));
  return asksForPlatform && ancestors.every(reachesPlatform) ? [...clusters, issuer] : clusters;
}

/** The audiences by which the API server of a cluster takes tokens: `scoped` only where it asks for each request whether the scope allows it. */
export const clusterAudiences = (issuer: string, cluster: string) =>
  ({
    whole: [`${issuer}/cluster/${cluster}`, `${issuer}/clusters`],
    scoped: `${issuer}/cluster/${cluster}${scopedAudienceSuffix}`,
  }) as const;

export interface ScopedAudienceRequest {
  readonly issuer: string;
  /** Whether the API server of this cluster asks for each request. */
  readonly enforces: (cluster: string) => boolean;
}

/**
 * The audiences of a narrow token in place of those of a wide one, where each of them is a cluster that enforces scopes itself; else they
 * stay. All or none: without the header `crit`, a verifier that knows no scopes would give a narrow token every right of its user. The
 * issuer is such an audience too.
 */
export function scopedAudiences(
  audiences: readonly string[],
  { issuer, enforces }: ScopedAudienceRequest,
): readonly string[] {
  const prefix = `${issuer}/cluster/`;
  const isEnforced = (audience: string) =>
    audience.startsWith(prefix) && enforces(audience.slice(prefix.length));
  return audiences.every(isEnforced)
    ? audiences.map((audience) => audience + scopedAudienceSuffix)
    : audiences;
}

/** Whether such a token names this cluster among them, as far as this scope goes. */
export function mayReachCluster(scope: RawScope | undefined, cluster: string): boolean {
  const reach = clustersOf(scope);
  return reach === 'all' || reach.has(cluster);
}

/**
 * The cluster that a scope names, where it names no other and opens nothing that names none. With the role `platform-cli` there is none: the
 * cluster that gets the token could ask the platform with it.
 */
export function onlyCluster(scope: RawScope | undefined): string | undefined {
  if (scope !== undefined && hasPlatformCli(scope)) return undefined;
  const reach = clustersOf(scope);
  const [cluster, ...others] = reach === 'all' ? [] : reach;
  return others.length === 0 ? cluster : undefined;
}

type Clusters = 'all' | ReadonlySet<string>;

const none: Clusters = new Set();

/**
 * The clusters that a scope can reach, as far as its names tell. Roles reach none: they are about the platform. The scope of an agent reaches
 * none either: the gateway opens nothing in its clusters to it, and a verifier that knows no scopes would open everything.
 */
function clustersOf(scope: RawScope | undefined): Clusters {
  if (scope !== undefined && agentClusters(scope) !== undefined) return none;
  if (scope === undefined || namelessEntries(scope)) return 'all';
  const names = [...entriesOf(scope, 'clusters'), ...entriesOf(scope, 'rules')].map(({ cluster }) => cluster);
  return names.includes('*') ? 'all' : new Set(names.filter(isObjectName));
}

/** Whether some entry can match in a cluster that it does not name. An entry with an empty name matches nothing. */
function namelessEntries(scope: RawScope): boolean {
  return (
    entriesOf(scope, 'projects').some(({ project }) => isName(project)) ||
    entriesOf(scope, 'spaces').some(({ project, space }) => isName(project) && isName(space)) ||
    entriesOf(scope, 'virtualClusters').some(
      (entry) => isName(entry['project']) && isName(entry['virtualCluster']),
    ) ||
    entriesOf(scope, 'rules').some(({ cluster }) => (cluster ?? '') === '')
  );
}

/** Whether a scope can allow any request to the platform itself beyond what every credential may ask. */
function reachesPlatform(scope: RawScope | undefined): boolean {
  if (scope === undefined || hasPlatformRole(scope)) return true;
  return namelessEntries(scope);
}

function intersection(one: Clusters, other: Clusters): Clusters {
  if (one === 'all') return other;
  return other === 'all' ? one : new Set([...one].filter((name) => other.has(name)));
}

const isName = (value: unknown): boolean => typeof value === 'string' && value !== '';
