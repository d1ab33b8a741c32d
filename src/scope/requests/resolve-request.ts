import { type PathProblem, parseRequestPath, type RequestPath, type RequestTarget } from '../request-path.ts';
import { hasTooManyPairs, readListQuery } from './list-query.ts';
import { isClusterScoped, isMadeByPut } from './resource-tables.ts';

/** The meaning of a request to the API server: its `RequestInfo`, field by field. */
export interface RequestMeaning {
  readonly target: RequestTarget;
  /** Decoded, without the query. */
  readonly path: string;
  readonly isResourceRequest: boolean;
  /** `list`, `watch` and `deletecollection` are told apart; in small letters where the path names no resource. */
  readonly verb: string;
  readonly apiGroup: string;
  readonly apiVersion: string;
  readonly namespace: string;
  readonly resource: string;
  readonly subresource: string;
  /** Of the path, or of a field selector that leaves one object. */
  readonly name: string;
  /** Whether it may be about objects of every namespace at once. */
  readonly allNamespaces: boolean;
  /** Whether it makes the object where there is none, though its verb does not say so. */
  readonly mayCreate: boolean;
}

export interface ResolvedRequest extends RequestMeaning {
  /** Path and query to send to the target: the bytes that were judged. */
  readonly forward: string;
}

/** Why a request gets a 400. The code is constant; the problem is for people. */
export type RequestProblem = PathProblem | { readonly code: RequestProblemCode; readonly problem: string };

export type RequestProblemCode = keyof typeof problems;

export interface SentRequest {
  readonly method: string;
  /** The target of the request as it came, without the path of the base URL. */
  readonly target: string;
  /** The first header `Content-Type`; undefined where there is none. */
  readonly contentType: string | undefined;
}

/** Says what an HTTP request means to the API server that it is for. What could mean two things is a problem. */
export function resolveRequest({
  method,
  target,
  contentType,
}: SentRequest): ResolvedRequest | RequestProblem {
  if (!methods.has(method)) return problemOf('Method');
  const sent = parseRequestPath(target);
  if ('problem' in sent) return sent;
  const path = decode(sent.path);
  if (path === undefined) return problemOf('Encoding');
  const version = findVersion(segmentsOf(path));
  if (hidesLetters(sent.path, version !== undefined)) return problemOf('EncodedLetter');
  if (version === undefined) return { ...nonResource, ...forwarded(sent, path), verb: method.toLowerCase() };
  const request = resourceRequest({ method, contentType, sent, path, version });
  return typeof request === 'string' ? problemOf(request) : request;
}

const methods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

const problems = {
  Method: 'the method must be GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS',
  Encoding: 'the path holds encoded bytes that are no text',
  EncodedLetter: 'the path holds an encoded letter or digit, or one of - . _ ~; write it as it is',
  NoResource: 'the path ends where the name of a resource must follow',
  ListOptions: 'the query selects objects in a way that can be understood in two ways',
} as const;

const problemOf = (code: RequestProblemCode): RequestProblem => ({ code, problem: problems[code] });

function decode(path: string): string | undefined {
  if (!path.includes('%')) return path;
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}

/** The fields that stay empty in a request that is for no resource. */
export const nonResource = {
  isResourceRequest: false,
  apiGroup: '',
  apiVersion: '',
  namespace: '',
  resource: '',
  subresource: '',
  name: '',
  allNamespaces: false,
  mayCreate: false,
} as const;

const forwarded = ({ target, path: encoded, query }: RequestPath, path: string) =>
  ({ target, forward: encoded + query, path }) as const;

const verbs: ReadonlyMap<string, string> = new Map([
  ['POST', 'create'],
  ['GET', 'get'],
  ['HEAD', 'get'],
  ['PUT', 'update'],
  ['PATCH', 'patch'],
  ['DELETE', 'delete'],
]);

interface ResourcePath extends Omit<SentRequest, 'target'> {
  readonly sent: RequestPath;
  /** Decoded. */
  readonly path: string;
  readonly version: Version;
}

/** Every member is written out, in place of spreading: it runs for nearly every request. */
function resourceRequest({
  method,
  contentType,
  sent,
  path,
  version,
}: ResourcePath): ResolvedRequest | RequestProblemCode {
  const { apiGroup, apiVersion, rest } = version;
  const [first] = rest;
  const verbInPath = first === 'watch' || first === 'proxy' ? first : undefined;
  const parts = verbInPath === undefined ? rest : rest.slice(1);
  if (parts.length === 0) return 'NoResource';
  const address = addressOf(parts, verbInPath !== 'proxy');
  const named = nameVerb(verbInPath ?? verbs.get(method) ?? '', address.name, sent.query);
  if (named === undefined) return 'ListOptions';
  return {
    target: sent.target,
    forward: sent.path + sent.query,
    path,
    isResourceRequest: true,
    verb: named.verb,
    apiGroup,
    apiVersion,
    namespace: address.namespace,
    resource: address.resource,
    subresource: address.subresource,
    name: named.name,
    allNamespaces: reachesAllNamespaces(apiGroup, address, named.verb),
    mayCreate: mayCreate(method, contentType, apiGroup, address),
  };
}

interface Version {
  readonly apiGroup: string;
  readonly apiVersion: string;
  /** At least one segment. */
  readonly rest: readonly string[];
}

/** Undefined for a path that names no resource. */
function findVersion(segments: readonly string[]): Version | undefined {
  const [prefix, second = '', third = ''] = segments;
  if (prefix === 'api' && segments.length > 2) {
    return { apiGroup: '', apiVersion: second, rest: segments.slice(2) };
  }
  if (prefix !== 'apis' || segments.length < 4) return undefined;
  return { apiGroup: second, apiVersion: third, rest: segments.slice(3) };
}

/** An empty path has no segment; a slash at the end begins none. */
function segmentsOf(path: string): readonly string[] {
  const end = path.endsWith('/') ? path.length - 1 : path.length;
  return end < 1 ? [] : path.slice(1, end).split('/');
}

interface Address {
  readonly namespace: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
}

/** A namespace is an object itself, unless a resource in it follows; `status` and `finalize` are its own subresources. */
function addressOf(parts: readonly string[], withSubresource: boolean): Address {
  const [first, second = '', third] = parts;
  const inNamespace = first === 'namespaces' && third !== undefined && !namespaceSubresources.has(third);
  const [resource = '', name = '', subresource = ''] = inNamespace ? parts.slice(2) : parts;
  return {
    namespace: first === 'namespaces' ? second : '',
    resource,
    name,
    subresource: withSubresource ? subresource : '',
  };
}

const namespaceSubresources: ReadonlySet<string> = new Set(['status', 'finalize']);

interface NamedVerb {
  readonly verb: string;
  readonly name: string;
}

function nameVerb(verb: string, name: string, query: string): NamedVerb | undefined {
  if (verb === 'watch' && hasTooManyPairs(query)) return undefined;
  if (name !== '' || (verb !== 'get' && verb !== 'delete')) return { verb, name };
  if (verb === 'delete') return { verb: 'deletecollection', name };
  const options = readListQuery(query);
  return options && { verb: options.watch ? 'watch' : 'list', name: options.name };
}

/** Without a namespace only lists and watches take objects of namespaces; every other request is about objects without one. */
function reachesAllNamespaces(apiGroup: string, { namespace, resource }: Address, verb: string): boolean {
  return namespace === '' && (verb === 'list' || verb === 'watch') && !isClusterScoped(apiGroup, resource);
}

/** Neither of its verbs says so, but an apply makes the object where there is none, and of some kinds a PUT does. */
function mayCreate(
  method: string,
  contentType: string | undefined,
  apiGroup: string,
  { resource, subresource }: Address,
): boolean {
  if (method === 'PUT') return subresource === '' && isMadeByPut(apiGroup, resource);
  return method === 'PATCH' && !isPatchOfExisting(contentType);
}

/** Every other patch is an apply, or one that the API server does not know. */
const patchesOfExisting: ReadonlySet<string> = new Set([
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
]);

const isPatchOfExisting = (contentType = ''): boolean =>
  patchesOfExisting.has(contentType.split(';', 1)[0] ?? '');

const encodedLetter = /%(?:2[de]|3\d|4[1-9a-f]|5[0-9af]|6[1-9a-f]|7[0-9ae])/i;

/** The API server reads nothing of what stands far behind: it belongs to a program that it is a proxy for. */
function hidesLetters(path: string, isResourceRequest: boolean): boolean {
  if (!path.includes('%')) return false;
  return encodedLetter.test(isResourceRequest ? path.split('/').slice(0, maxReadSegments).join('/') : path);
}

/** `/apis/group/version/watch/namespaces/namespace/resource/name/subresource`, and the empty one in front. */
const maxReadSegments = 10;
