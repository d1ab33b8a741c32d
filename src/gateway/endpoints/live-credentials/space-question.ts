import { version } from '../../../api/names.ts';
import { clusters, spaceInstances } from '../../../api/resources.ts';
import { leaveRest } from '../../server/error-answer.ts';
import { type EndpointRequest, type EndpointServices, queryOf } from '../shared/endpoint.ts';
import { refuse } from '../shared/reply.ts';
import { isSpaceOfCluster } from './spaces-of-cluster.ts';

type SpaceQuestionServices = Pick<EndpointServices, 'tokens' | 'followingPermissions' | 'targetRecords'>;

/** Whether an agent asks if the user of a token may use one space of its cluster. */
export const isSpaceQuestion = (request: EndpointRequest): boolean =>
  request.request.method === 'GET' &&
  request.asked.apiVersion === version &&
  ['hash', 'namespace', 'space'].every((name) => queryOf(request).has(name));

/**
 * Asked for each user and space as they are used: to stream it would be a question for every user and every space. Only about
 * tokens and spaces that the agent is told of anyway, so no agent learns what else users may do.
 */
export async function answerSpaceQuestion(
  request: EndpointRequest,
  services: SpaceQuestionServices,
): Promise<void> {
  const allowed = await mayUse(request, services);
  const { response } = request;
  if (response.destroyed) return;
  leaveRest(response);
  response
    .writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' })
    .end(JSON.stringify({ allowed }));
}

/** Throws a Refusal where there is no answer: the agent keeps a no, for all tokens of the same user. */
async function mayUse(
  request: EndpointRequest,
  { tokens, followingPermissions, targetRecords }: SpaceQuestionServices,
): Promise<boolean> {
  await request.turn();
  const cluster = targetRecords.clusters.get(request.asked.name);
  if (cluster === undefined) return refuse('ERR_TARGET_UNKNOWN', {});
  const query = queryOf(request);
  const read = (field: string) => query.get(field) ?? '';
  const [hash, namespace, name] = [read('hash'), read('namespace'), read('space')];
  const verdict = tokens.find(hash, cluster.name);
  if (verdict === undefined) return refuse('ERR_QUERY', unknownHash);
  if (!isSpaceOfCluster(targetRecords, cluster, { namespace, name })) return false;
  const ofCluster = { verb: 'use', resource: clusters.plural, namespace: '', name: cluster.name };
  const ofSpace = { verb: 'use', resource: spaceInstances.plural, namespace, name };
  const { identity } = verdict;
  // The stream names no token whose user may not use the cluster.
  if (!(await followingPermissions.isAllowed(identity, ofCluster))) return false;
  return await followingPermissions.isAllowed(identity, ofSpace);
}

const unknownHash = { problem: 'hash is of no token that is good in this cluster now' };
