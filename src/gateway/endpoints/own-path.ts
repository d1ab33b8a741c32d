import { credentialResources } from '../../api/resources.ts';
import { isSegment } from '../../kube/resource-path.ts';
import { notFound, type OwnRequest } from './own-request.ts';
import { refuse } from './refusal.ts';

type Place = Pick<OwnRequest, 'kind' | 'asked'> & {
  readonly request: Pick<OwnRequest['request'], 'method'>;
};

/** Refuses what method and path make no sense of together, as the API server does for kinds of its own. Throws a Refusal. */
export function checkPath(place: Place): void {
  const { kind, asked } = place;
  if (isElsewhere(place)) throw notFound(place);
  for (const part of [asked.namespace, asked.name])
    if (part !== '' && !isSegment(part)) refuse('ERR_OBJECT_NAME', {});
  if (isServed(place)) return;
  const headers = ['allow', asked.name === '' ? 'GET, POST, DELETE' : 'GET, PUT, PATCH, DELETE'];
  refuse('ERR_OPERATION_UNKNOWN', { resource: credentialResources[kind].plural }, { headers });
}

/** In a namespace where the kind has none, or without one where it has. Only lists go through all namespaces. */
function isElsewhere({ kind, asked: { namespace, verb } }: Place): boolean {
  const { namespaced } = credentialResources[kind];
  if (!namespaced) return namespace !== '';
  return namespace === '' && verb !== 'list' && verb !== 'watch';
}

/** A path that says `watch` makes every method one; only a GET is meant as one. */
function isServed({ asked: { verb, name }, request: { method } }: Place): boolean {
  if (verb === 'watch') return method === 'GET';
  if (verb === '') return false;
  if (verb === 'create') return name === '';
  return name !== '' || !changing.has(verb);
}

const changing: ReadonlySet<string> = new Set(['update', 'patch']);
