/** The part in front of the path of every target, after the base URL. */
export const apiPrefix = '/kubernetes';

/** An API server, or a part of one, that requests are for. */
export type RequestTarget =
  | { readonly kind: 'management' }
  | { readonly kind: 'cluster'; readonly cluster: string }
  | { readonly kind: 'space'; readonly project: string; readonly space: string }
  | { readonly kind: 'virtualCluster'; readonly project: string; readonly virtualCluster: string };

export interface RequestPath {
  readonly target: RequestTarget;
  /** The path at that API server: an absolute path, as it was sent. */
  readonly path: string;
  /** With its question mark; empty where there is none. */
  readonly query: string;
}

export interface PathProblem {
  readonly code: keyof typeof problems;
  /** For people. */
  readonly problem: string;
}

/**
 * Reads the target of an HTTP request, without the path of the base URL. Everything that two readers could understand in
 * two ways is a problem: what is judged must be what the API server sees.
 */
export function parseRequestPath(sent: string): RequestPath | PathProblem {
  const mark = sent.indexOf('?');
  const [path, query] = mark === -1 ? [sent, ''] : [sent.slice(0, mark), sent.slice(mark)];
  const code = problemCode(path, query);
  if (code !== undefined) return { code, problem: problems[code] };
  const match = targetPattern.exec(path);
  const target = match === null ? undefined : readTarget(match);
  if (match === null || target === undefined) return { code: 'NoTarget', problem: problems.NoTarget };
  return { target, path: path.slice(match[0].length) || '/', query };
}

/** `/cluster/<name>` and the like; undefined for a name that does not lead to this target. */
export function formatTarget(target: RequestTarget): string | undefined {
  const text = `/${segmentsOf(target).join('/')}`;
  const read = parseRequestPath(`${apiPrefix}${text}`);
  return 'target' in read && `/${segmentsOf(read.target).join('/')}` === text ? text : undefined;
}

/** The project that a namespace is; undefined for every other namespace. */
export type FindProject = (namespace: string) => string | undefined;

/**
 * The project that the name of a namespace stands for: the name is `prefix` and the project. Only its label makes the namespace
 * that project.
 */
export function projectOfNamespace(namespace: string, prefix: string): string | undefined {
  return namespace.startsWith(prefix) && namespace.length > prefix.length
    ? namespace.slice(prefix.length)
    : undefined;
}

/** Clusters, projects, instances and keys are objects of Kubernetes; other text names none. */
export const isObjectName = (value: unknown): value is string =>
  typeof value === 'string' && /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/.test(value);

function segmentsOf(target: RequestTarget): readonly string[] {
  switch (target.kind) {
    case 'management':
      return ['management'];
    case 'cluster':
      return ['cluster', target.cluster];
    case 'space':
      return ['project', target.project, 'space', target.space];
    case 'virtualCluster':
      return ['project', target.project, 'virtualcluster', target.virtualCluster];
  }
}

const problems = {
  NotAPath: 'the target of the request is not a path',
  Character: 'the path holds characters that must be encoded',
  PercentSign: 'the path holds a percent sign that encodes nothing',
  EncodedSlash: 'the path holds an encoded slash or backslash',
  EncodedControl: 'the path holds an encoded control character',
  EmptySegment: 'the path holds an empty segment',
  Dots: 'the path holds a segment of dots',
  QueryCharacter: 'the query holds characters that must be encoded',
  NoTarget: 'the path leads to no target',
} as const;

const plain: readonly (readonly [RegExp, PathProblem['code']])[] = [
  [/^(?!\/)/, 'NotAPath'],
  [/[^\x21-\x7e]|[\\#]/, 'Character'],
  [/\/\//, 'EmptySegment'],
  [/\/(?:\.|%2e){1,2}(?:\/|$)/i, 'Dots'],
];

const encoded: readonly (readonly [RegExp, PathProblem['code']])[] = [
  [/%(?![0-9a-f]{2})/i, 'PercentSign'],
  [/%(?:2f|5c)/i, 'EncodedSlash'],
  [/%[01][0-9a-f]|%7f/i, 'EncodedControl'],
];

/** Nothing of `plain` and `encoded` is in such a path. Most paths are, and one pattern is faster than seven. */
const unambiguous = /^(?:\/[\w~!$&'()*+,;=:@-][\w.~!$&'()*+,;=:@-]*)+\/?$/;

function problemCode(path: string, query: string): PathProblem['code'] | undefined {
  if (query !== '' && /[^\x21-\x7e]|#/.test(query)) return 'QueryCharacter';
  if (unambiguous.test(path)) return undefined;
  const ambiguities = path.includes('%') ? [...plain, ...encoded] : plain;
  return ambiguities.find(([pattern]) => pattern.test(path))?.[1];
}

const targetPattern = new RegExp(
  `^${apiPrefix}/(?:(management)|cluster/([^/]+)|project/([^/]+)/(?:space/([^/]+)|virtualcluster/([^/]+)))(?=/|$)`,
);

/** Names are compared as they stand: nothing of them needs to be encoded, so what is encoded is no name. */
function readTarget([, management, cluster, project, space, virtualCluster]: RegExpExecArray):
  | RequestTarget
  | undefined {
  if (management !== undefined) return { kind: 'management' };
  if (cluster !== undefined) return isObjectName(cluster) ? { kind: 'cluster', cluster } : undefined;
  if (!isObjectName(project)) return undefined;
  if (isObjectName(space)) return { kind: 'space', project, space };
  return isObjectName(virtualCluster) ? { kind: 'virtualCluster', project, virtualCluster } : undefined;
}
