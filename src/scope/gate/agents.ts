import { group } from '../../api/names.ts';
import { clusters } from '../../api/resources.ts';
import { entriesOf, type RawScope } from '../effective-scope.ts';
import { isObjectName } from '../request-path.ts';
import type { RequestMeaning } from '../requests/resolve-request.ts';
import type { Gate } from './gate.ts';

/** The role of a direct endpoint. With `clusters` beside it a scope opens the stream of these clusters, and nothing else. */
const agent = 'agent';

/** Of a Cluster: the credentials that are good for its direct endpoint now, as a stream. */
export const liveCredentials = 'livecredentials';

/** The clusters that a scope is the agent of; undefined for a scope that is none. */
export function agentClusters(scope: RawScope): ReadonlySet<string> | undefined {
  if (!entriesOf(scope, 'roles').some(({ role }) => role === agent)) return undefined;
  const named = entriesOf(scope, 'clusters');
  // One that is bounded to no cluster opens nothing by this role, as before there were agents.
  return named.length === 0 ? undefined : new Set(named.map(({ cluster }) => cluster).filter(isObjectName));
}

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
