import { group } from '../../api/names.ts';
import { projects } from '../../api/resources.ts';
import type { RequestMeaning } from '../requests/resolve-request.ts';

/**
 * The project that a request wants to see; empty for a list of them, which shows only what the scope allows by name. Undefined for
 * every other request. What it says of a name does not depend on whether there is such a project.
 */
export function readProject(request: RequestMeaning): string | undefined {
  const { verb, apiGroup, resource, subresource, namespace, name } = request;
  if (apiGroup !== group || resource !== projects.plural || namespace !== '') return undefined;
  if (subresource === '') return verb === 'get' || verb === 'list' ? name : undefined;
  return verb === 'get' && subresource === 'clusters' && name !== '' ? name : undefined;
}
