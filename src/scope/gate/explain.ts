import type { RequestTarget } from '../request-path.ts';
import type { RequestMeaning } from '../requests/resolve-request.ts';
import type { ScopeDenial } from './authorise.ts';
import { neededVerb } from './rules.ts';

/**
 * The message of a 403, for the holder: what was asked, and what the scope lacks. `owner` is the credential whose scope denies,
 * as in `OwnedAccessKey "ci"`.
 */
export function explainDenial(denial: ScopeDenial, request: RequestMeaning, owner: string): string {
  const place = placeOf(request.target);
  const asked = `${actionOf(request)} ${request.target.kind === 'management' ? 'on' : 'in'} ${place}`;
  switch (denial.reason) {
    case 'OutsideSpace':
      return `cannot ${asked}: a space gives what is in its namespace, and that namespace itself; this is neither`;
    case 'Target':
      return `cannot ${asked}: the scope of ${owner} has no entry for ${place}; add it to ${listFor(request.target)}`;
    case 'Request':
      return `cannot ${asked}: no entry for ${place} in the scope of ${owner} allows it`;
    case 'Unnamed':
      return `cannot ${asked}: with a scope this takes a rule that names ${resourceOf(request)} without a wildcard, and the scope of ${owner} has none`;
  }
}

function actionOf(request: RequestMeaning): string {
  if (!request.isResourceRequest) return `${request.verb} ${quote(request.path)}`;
  const name = request.name === '' ? '' : ` ${quote(request.name)}`;
  const namespace = request.namespace === '' ? '' : ` in the namespace ${quote(request.namespace)}`;
  const verb = request.mayCreate ? `create and ${request.verb}` : neededVerb(request) || 'use';
  return `${verb} ${resourceOf(request)}${name}${namespace}`;
}

function resourceOf({ resource, subresource, apiGroup }: RequestMeaning): string {
  const group = apiGroup === '' ? '' : ` of the group ${quote(apiGroup)}`;
  return quote(subresource === '' ? resource : `${resource}/${subresource}`) + group;
}

/** Only visible ASCII: what a client sent could hide or turn around the rest of the line. */
const quote = (text: string): string =>
  JSON.stringify(text).replace(
    /[^ -~]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

function placeOf(target: RequestTarget): string {
  switch (target.kind) {
    case 'management':
      return 'the platform';
    case 'cluster':
      return `the cluster "${target.cluster}"`;
    case 'space':
      return `the space "${target.space}" of the project "${target.project}"`;
    case 'virtualCluster':
      return `the virtual cluster "${target.virtualCluster}" of the project "${target.project}"`;
  }
}

const listsFor = {
  management: 'scope.projects, scope.roles or scope.rules',
  cluster: 'scope.clusters',
  space: 'scope.spaces or scope.projects',
  virtualCluster: 'scope.virtualClusters or scope.projects',
} as const satisfies Record<RequestTarget['kind'], string>;

const listFor = ({ kind }: RequestTarget): string => listsFor[kind];
