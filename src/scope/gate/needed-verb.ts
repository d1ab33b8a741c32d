import type { RequestMeaning } from '../requests/resolve-request.ts';

/** A websocket is a GET, but a shell or a tunnel that it opens is no reading: the API server asks for `create` as well. */
export function neededVerb({ verb, apiGroup, resource, subresource }: RequestMeaning): string {
  const opensStream =
    verb === 'get' && resource === 'pods' && apiGroup === '' && streamSubresources.has(subresource);
  return opensStream ? 'create' : verb;
}

const streamSubresources: ReadonlySet<string> = new Set(['exec', 'attach', 'portforward']);
