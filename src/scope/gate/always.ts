import { group } from '../../api/names.ts';
import type { RequestMeaning } from '../requests/resolve-request.ts';

/** True for questions that every credential may ask of a target that its scope reaches: who it is, what it may do, and what there is. */
export function isAlwaysAllowed(request: RequestMeaning): boolean {
  return request.isResourceRequest ? isSelfReview(request) : isDiscovery(request);
}

const selfReviews: readonly (readonly [string, string])[] = [
  ['authorization.k8s.io', 'selfsubjectaccessreviews'],
  ['authorization.k8s.io', 'selfsubjectrulesreviews'],
  ['authentication.k8s.io', 'selfsubjectreviews'],
];

function isSelfReview(request: RequestMeaning): boolean {
  const { apiGroup, resource } = request;
  if (request.verb !== 'create' || request.subresource !== '') return false;
  if (request.namespace !== '' || request.name !== '') return false;
  if (apiGroup === group) return request.target.kind === 'management' && resource === 'selves';
  return selfReviews.some((review) => review[0] === apiGroup && review[1] === resource);
}

/** `/api` and `/apis/<group>/<version>` list resources; what is below is a resource. */
function isDiscovery({ verb, path }: RequestMeaning): boolean {
  if (verb !== 'get' && verb !== 'head') return false;
  return /^\/(?:api(?:\/[^/]+)?|apis(?:\/[^/]+){0,2}|openapi(?:\/.+)?|version)\/?$/.test(path);
}
