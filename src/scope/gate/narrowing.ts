import { labels } from '../../api/names.ts';
import { firstValues, readPairs } from '../requests/list-query.ts';
import type { RequestMeaning } from '../requests/resolve-request.ts';
import { authorise } from './authorise.ts';
import type { Gate } from './gate.ts';
import { protectedNamespaces } from './sensitive.ts';

/** The bound of an answer about many namespaces. */
export interface Narrowing {
  /** Terms of a field selector. */
  readonly fields: readonly string[];
  /** Terms of a label selector. */
  readonly labels: readonly string[];
}

/**
 * The bound of a list or a watch of the platform, so that it shows nothing that a scope refuses by name. Undefined where
 * no request by name is refused.
 */
export function narrowingOf(gates: readonly Gate[], request: RequestMeaning): Narrowing | undefined {
  const field = gates.length === 0 ? undefined : namespaceField(request);
  if (field === undefined) return undefined;
  const isAllowed = (namespace: string): boolean => {
    const name = field === 'metadata.name' ? namespace : request.name;
    return authorise({ gates, request: { ...request, namespace, name, allNamespaces: false }, place })
      .allowed;
  };
  const fields = protectedNamespaces.filter((name) => !isAllowed(name)).map((name) => `${field}!=${name}`);
  // Who may see all namespaces together, but not one that is no project, may see projects.
  const isOfProjects = field === 'metadata.name' && request.name === '' && !isAllowed(noNamespace);
  if (fields.length === 0 && !isOfProjects) return undefined;
  return { fields, labels: isOfProjects ? [labels.project] : [] };
}

/** The field of each object that names a namespace, where the answer may be about all of them. */
function namespaceField(request: RequestMeaning): 'metadata.name' | 'metadata.namespace' | undefined {
  const { verb, apiGroup, resource, namespace } = request;
  if (verb !== 'list' && verb !== 'watch') return undefined;
  if (request.allNamespaces) return 'metadata.namespace';
  return apiGroup === '' && resource === 'namespaces' && namespace === '' ? 'metadata.name' : undefined;
}

const place = { isPlatform: true } as const;
/** Nothing can have this name. */
const noNamespace = '-';

/**
 * Adds terms to the selectors of a list. They stand in front: behind a backslash of the client's they would be a part of its last
 * value. What the API server does not read goes no further, since a program behind it could.
 */
export function narrowQuery(forward: string, narrowing: Narrowing): string {
  const mark = forward.indexOf('?');
  const [path, query] = mark === -1 ? [forward, ''] : [forward.slice(0, mark), forward.slice(mark)];
  const pairs = readPairs(query);
  const values = firstValues(pairs);
  const selectors = [
    ...selector('fieldSelector', narrowing.fields, values.get('fieldSelector')),
    ...selector('labelSelector', narrowing.labels, values.get('labelSelector')),
  ];
  const replaced = new Set(selectors.map(([name]) => name));
  const kept = pairs.filter(({ key }) => !replaced.has(key)).map(({ text }) => text);
  const added = selectors.map(([name, text]) => `${name}=${encodeURIComponent(text)}`);
  return `${path}?${[...added, ...kept].join('&')}`;
}

function selector(name: string, terms: readonly string[], sent = ''): readonly (readonly [string, string])[] {
  if (terms.length === 0) return [];
  return [[name, [...terms, ...(sent.trim() === '' ? [] : [sent])].join(',')]];
}
