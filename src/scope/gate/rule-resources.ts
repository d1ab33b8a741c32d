import { readFields, readText, readTexts } from '../fields.ts';
import type { RequestMeaning } from '../requests/resolve-request.ts';

/** One entry of the resources of a rule: a group, and what of it. */
export interface ResourceMatcher {
  readonly group: string;
  /** Undefined: all resources and subresources of the group. */
  readonly resources: ReadonlySet<string> | undefined;
  /** Undefined: every object. */
  readonly resourceNames: ReadonlySet<string> | undefined;
}

/** Undefined where none is listed, which means all of every group. */
export function readResources(list: readonly unknown[]): readonly ResourceMatcher[] | undefined {
  if (list.length === 0) return undefined;
  return list.map((item) => {
    const entry = readFields(item, ['group', 'resources', 'resourceNames']);
    return {
      group: readText(entry, 'group'),
      resources: readTexts(entry, 'resources'),
      resourceNames: readTexts(entry, 'resourceNames'),
    };
  });
}

export function matchesResource(matcher: ResourceMatcher, request: RequestMeaning): boolean {
  const { group, resources, resourceNames } = matcher;
  if (group !== request.apiGroup) return false;
  if (resourceNames !== undefined && !(request.name !== '' && resourceNames.has(request.name))) return false;
  return resources === undefined || isListed(resources, request);
}

/** `secrets` names secrets, and `pods/exec` this one subresource; `*`, `pods/*` and an empty list name nothing. */
export function namesResource(matcher: ResourceMatcher, request: RequestMeaning): boolean {
  const { resource, subresource } = request;
  const name = subresource === '' ? resource : `${resource}/${subresource}`;
  return !name.includes('*') && matchesResource(matcher, request) && matcher.resources?.has(name) === true;
}

function isListed(resources: ReadonlySet<string>, request: RequestMeaning): boolean {
  if (resources.has('*')) return true;
  if (request.subresource === '') return resources.has(request.resource);
  for (const name of namesOf(request)) if (resources.has(name)) return true;
  return false;
}

const names = new WeakMap<RequestMeaning, readonly string[]>();

/** How a list may name the subresource of a request. Made once: a scope may hold five hundred lists. */
function namesOf(request: RequestMeaning): readonly string[] {
  const known = names.get(request);
  if (known !== undefined) return known;
  const { resource, subresource } = request;
  const made = [`${resource}/${subresource}`, `${resource}/*`, `*/${subresource}`, '*/*'];
  names.set(request, made);
  return made;
}
