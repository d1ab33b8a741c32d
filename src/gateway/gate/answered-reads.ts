import { group, version } from '../../api/names.ts';
import { clusters, projects, spaceInstances, virtualClusterInstances } from '../../api/resources.ts';
import { readPairs } from '../../scope/requests/list-query.ts';
import type { RequestMeaning, ResolvedRequest } from '../../scope/requests/resolve-request.ts';

const kinds: ReadonlySet<string> = new Set(
  [virtualClusterInstances, spaceInstances, clusters].map(({ plural }) => plural),
);
const verbs: ReadonlySet<string> = new Set(['get', 'list', 'watch']);

/**
 * A get, a list or a watch of targets on the platform. Who may not send it as it is sees the targets that they may use and that their
 * scope names, and no others.
 */
export const isTargetRead = ({
  target,
  apiGroup,
  apiVersion,
  resource,
  subresource,
  verb,
}: RequestMeaning): boolean =>
  target.kind === 'management' &&
  apiGroup === group &&
  apiVersion === version &&
  kinds.has(resource) &&
  subresource === '' &&
  verbs.has(verb);

const instanceKinds: ReadonlySet<string> = new Set([virtualClusterInstances.plural, spaceInstances.plural]);

/** A get or a list of instances on the platform with `extended=true`: the gateway itself answers it. */
export function isExtendedRead(asked: RequestMeaning & Pick<Partial<ResolvedRequest>, 'forward'>): boolean {
  const { target, apiGroup, resource, subresource, verb, forward: path = '' } = asked;
  if (target.kind !== 'management' || apiGroup !== group || !instanceKinds.has(resource)) return false;
  if (subresource !== '' || (verb !== 'get' && verb !== 'list')) return false;
  const mark = path.indexOf('?');
  if (mark === -1 || !path.includes('extended')) return false;
  return readPairs(path.slice(mark)).find(({ key }) => key === 'extended')?.value === 'true';
}

/** The same request about the projects that such a list goes through. */
export const aboutProjects = (asked: RequestMeaning): RequestMeaning => ({
  ...asked,
  ...{ verb: 'list', resource: projects.plural, subresource: '' },
  ...{ namespace: '', name: '', allNamespaces: false },
});
