import type { RequestMeaning } from '../requests/resolve-request.ts';
import { isAlwaysAllowed } from './always.ts';

/** A space is one namespace: what is in it, and a look at the namespace itself. This binds every credential, scoped or not. */
export function isInSpace(request: RequestMeaning, namespace: string | undefined): boolean {
  if (namespace === undefined || namespace === '') return false;
  if (isAlwaysAllowed(request)) return true;
  if (!request.isResourceRequest || request.namespace !== namespace) return false;
  if (request.resource !== 'namespaces') return true;
  return request.apiGroup === '' && request.verb === 'get' && request.subresource === '';
}
