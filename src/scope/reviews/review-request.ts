import { isObject, type JsonObject } from '../../api/json.ts';
import type { RequestTarget } from '../request-path.ts';
import { nonResource, type RequestMeaning } from '../requests/resolve-request.ts';
import { isClusterScoped } from '../requests/resource-tables.ts';

/**
 * The request that the spec of a SelfSubjectAccessReview asks about, so that a scope can answer it. A star keeps standing for
 * everything: only an entry that allows everything allows it. Undefined for a spec that the API server will refuse.
 */
export function reviewToRequest(spec: unknown, target: RequestTarget): RequestMeaning | undefined {
  if (!isObject(spec)) return undefined;
  const { resourceAttributes, nonResourceAttributes } = spec;
  const resource = readTexts(resourceAttributes, resourceFields);
  const url = readTexts(nonResourceAttributes, ['path', 'verb']);
  if (isObject(resource) && url === 'absent')
    return { ...nonResource, target, path: '', ...meaningOfResource(resource) };
  if (isObject(url) && resource === 'absent') {
    return {
      ...nonResource,
      target,
      verb: textOf(url, 'verb'),
      path: textOf(url, 'path'),
    };
  }
  return undefined;
}

/** The same for the SubjectAccessReview of an API server, which is about one real request: only a list is about all namespaces at once. */
export function subjectReviewToRequest(spec: unknown, target: RequestTarget): RequestMeaning | undefined {
  const request = reviewToRequest(spec, target);
  if (request === undefined) return undefined;
  return { ...request, allNamespaces: request.allNamespaces && listing.has(request.verb) };
}

const listing: ReadonlySet<string> = new Set(['list', 'watch', '*']);

const resourceFields = ['namespace', 'verb', 'group', 'version', 'resource', 'subresource', 'name'];

/** The API server leaves out what it does not know, whatever it holds. */
function readTexts(attributes: unknown, fields: readonly string[]): JsonObject | 'absent' | 'unreadable' {
  if (attributes === undefined || attributes === null) return 'absent';
  if (!isObject(attributes)) return 'unreadable';
  const texts = fields.map((field) => attributes[field] ?? '');
  return texts.every((value) => typeof value === 'string') ? attributes : 'unreadable';
}

const textOf = (attributes: JsonObject, field: string): string => {
  const text = attributes[field];
  return typeof text === 'string' ? text : '';
};

function meaningOfResource(attributes: JsonObject): Omit<RequestMeaning, 'target' | 'path' | 'mayCreate'> {
  const [apiGroup, resource] = [textOf(attributes, 'group'), textOf(attributes, 'resource')];
  const name = textOf(attributes, 'name');
  const clusterScoped = isClusterScoped(apiGroup, resource);
  // kubectl sends the namespace of its context also for what has none.
  const namespace = clusterScoped ? '' : textOf(attributes, 'namespace');
  const isNamespace = apiGroup === '' && resource === 'namespaces';
  return {
    isResourceRequest: true,
    verb: textOf(attributes, 'verb'),
    apiGroup,
    apiVersion: textOf(attributes, 'version'),
    namespace: isNamespace ? name : namespace,
    resource,
    subresource: textOf(attributes, 'subresource'),
    name,
    allNamespaces: namespace === '' && !clusterScoped,
  };
}
