import { group } from '../../api/names.ts';
import { clusters } from '../../api/resources.ts';
import { agentClusters, type RawScope } from '../effective-scope.ts';
import type { RequestMeaning } from '../requests/resolve-request.ts';
import type { Gate } from './gate.ts';

/** Of a Cluster: the credentials that are good for its direct endpoint now, as a stream. */
export const liveCredentials = 'livecredentials';

/** The gate of a scope with the role; undefined for any other scope. */
export function agentGate(scope: RawScope): Gate | undefined {
  const names = agentClusters(scope);
  if (names === undefined) return undefined;
  const entry = {
    reaches: ({ kind }: RequestMeaning['target']) => kind === 'management',
    allows: (request: RequestMeaning) => isLiveCredentials(request) && names.has(request.name),
    isWhole: false,
    names: () => true,
  };
  return { entries: [entry], warnings: names.size === 0 ? [noName] : [], agentOf: names };
}

const noName = 'the role agent takes clusters by name, so the scope allows nothing';

const isLiveCredentials = (request: RequestMeaning): boolean =>
  request.isResourceRequest &&
  request.verb === 'get' &&
  request.apiGroup === group &&
  request.resource === clusters.plural &&
  request.subresource === liveCredentials;
