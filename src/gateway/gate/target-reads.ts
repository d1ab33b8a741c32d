import { group, version } from '../../api/names.ts';
import { clusters, spaceInstances, virtualClusterInstances } from '../../api/resources.ts';
import type { RequestMeaning } from '../../scope/requests/resolve-request.ts';

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
