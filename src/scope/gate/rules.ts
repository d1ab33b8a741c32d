import { readFields, readList, readText, readTexts } from '../fields.ts';
import type { FindProject, RequestTarget } from '../request-path.ts';
import type { RequestMeaning } from '../requests/resolve-request.ts';
import type { GateEntry } from './gate.ts';
import { matchesResource, namesResource, type ResourceMatcher, readResources } from './rule-resources.ts';

/** One rule of the deprecated list: a request must fit all of its fields. */
interface Rule {
  readonly targets: ReadonlySet<string> | undefined;
  readonly cluster: string;
  readonly virtualClusters: readonly VirtualClusterMatcher[] | undefined;
  readonly verbs: ReadonlySet<string> | undefined;
  readonly resources: readonly ResourceMatcher[] | undefined;
  readonly resourceNames: ReadonlySet<string> | undefined;
  readonly namespaces: ReadonlySet<string> | undefined;
  readonly urls: UrlMatcher | undefined;
}

const fields = [
  'verbs',
  'resources',
  'resourceNames',
  'namespaces',
  'nonResourceURLs',
  'requestTargets',
  'cluster',
  'virtualClusters',
];

export function ruleEntry(value: unknown, findProject: FindProject): GateEntry {
  const entry = readFields(value, fields);
  const rule: Rule = {
    targets: readTexts(entry, 'requestTargets'),
    cluster: readText(entry, 'cluster'),
    virtualClusters: readVirtualClusters(readList(entry, 'virtualClusters'), findProject),
    verbs: readTexts(entry, 'verbs'),
    resources: readResources(readList(entry, 'resources')),
    resourceNames: readTexts(entry, 'resourceNames'),
    namespaces: readTexts(entry, 'namespaces'),
    urls: readUrls(readTexts(entry, 'nonResourceURLs')),
  };
  return {
    reaches: (target) => reaches(rule, target),
    allows: (request) => allows(rule, request),
    isWhole: false,
    names: (request) => rule.resources?.some((matcher) => namesResource(matcher, request)) === true,
  };
}

const targetNames = {
  management: 'Management',
  cluster: 'Cluster',
  space: 'ProjectSpace',
  virtualCluster: 'ProjectVirtualCluster',
} as const satisfies Record<RequestTarget['kind'], string>;

function reaches({ targets, cluster, virtualClusters }: Rule, target: RequestTarget): boolean {
  if (targets?.has(targetNames[target.kind]) === false) return false;
  if (cluster !== '' && !(target.kind === 'cluster' && target.cluster === cluster)) return false;
  if (virtualClusters === undefined) return true;
  return target.kind === 'virtualCluster' && virtualClusters.some((matcher) => isMatch(matcher, target));
}

/** A websocket is a GET, but a shell or a tunnel that it opens is no reading: the API server asks for `create` as well. */
export function neededVerb({ verb, apiGroup, resource, subresource }: RequestMeaning): string {
  const opensStream =
    verb === 'get' && resource === 'pods' && apiGroup === '' && streamSubresources.has(subresource);
  return opensStream ? 'create' : verb;
}

const streamSubresources: ReadonlySet<string> = new Set(['exec', 'attach', 'portforward']);

function allows(rule: Rule, request: RequestMeaning): boolean {
  if (rule.verbs?.has(neededVerb(request)) === false) return false;
  if (request.mayCreate && rule.verbs?.has('create') === false) return false;
  return request.isResourceRequest ? allowsResource(rule, request) : allowsUrl(rule, request.path);
}

/** A rule that is about URLs alone is not about resources. */
function allowsResource(rule: Rule, request: RequestMeaning): boolean {
  const { resources, resourceNames, namespaces, urls } = rule;
  if (resources === undefined) {
    if (resourceNames !== undefined || (urls !== undefined && namespaces === undefined)) return false;
  } else if (!resources.some((matcher) => matchesResource(matcher, request))) return false;
  if (resourceNames !== undefined && !(request.name !== '' && resourceNames.has(request.name))) return false;
  return namespaces === undefined || isInNamespaces(namespaces, request);
}

/** A rule that is about resources allows only the URLs that it lists. */
function allowsUrl({ urls, resources, resourceNames, namespaces }: Rule, path: string): boolean {
  if (urls !== undefined) return urls(path);
  return resources === undefined && resourceNames === undefined && namespaces === undefined;
}

/** The empty text is a resource without a namespace, as namespaces are themselves; a list over all of them is something else. */
function isInNamespaces(namespaces: ReadonlySet<string>, request: RequestMeaning): boolean {
  if (request.allNamespaces) return false;
  if (namespaces.has(request.namespace)) return true;
  return request.apiGroup === '' && request.resource === 'namespaces' && namespaces.has('');
}

interface VirtualClusterMatcher {
  /** Empty: all of them. */
  readonly name: string;
  /** Whether its namespace is that of this project. */
  readonly isIn: (project: string) => boolean;
}

/** An entry that cannot be read makes the whole rule one that cannot. */
function readVirtualClusters(
  list: readonly unknown[],
  findProject: FindProject,
): readonly VirtualClusterMatcher[] | undefined {
  if (list.length === 0) return undefined;
  return list.map((item) => {
    const entry = readFields(item, ['name', 'namespace']);
    const namespace = readText(entry, 'namespace');
    const isIn = (project: string) => namespace === '' || findProject(namespace) === project;
    return { name: readText(entry, 'name'), isIn };
  });
}

function isMatch(
  { name, isIn }: VirtualClusterMatcher,
  target: RequestTarget & { readonly kind: 'virtualCluster' },
): boolean {
  return (name === '' || name === target.virtualCluster) && isIn(target.project);
}

type UrlMatcher = (path: string) => boolean;

/** Undefined where no URL is listed. A star stands for the whole rest of a path, behind a slash; in any other place it matches nothing. */
function readUrls(patterns: ReadonlySet<string> | undefined): UrlMatcher | undefined {
  if (patterns === undefined) return undefined;
  if (patterns.has('*')) return () => true;
  const prefixes = [...patterns]
    .filter((text) => /^\/(?:[^*]*\/)?\*$/.test(text))
    .map((text) => text.slice(0, -1));
  const exact = new Set([...patterns].filter((text) => /^\/[^*]*$/.test(text)));
  return (path) => exact.has(path) || prefixes.some((prefix) => path.startsWith(prefix));
}
