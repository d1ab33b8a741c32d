import { version } from '../../../api/names.ts';
import { entryDenial } from '../../gate/entry-permissions.ts';
import type { Verdict } from '../../index/verdict.ts';
import { type ErrorAnswer, errorAnswer } from '../../server/error-answer.ts';
import { type Endpoint, type EndpointRequest, type EndpointServices, queryOf } from '../shared/endpoint.ts';
import { answerFailure, beginStream } from '../shared/reply.ts';
import { CredentialStream, type StreamServices } from './credential-stream.ts';
import { OpenStreams } from './open-streams.ts';
import { rightToFollow } from './right-to-follow.ts';
import { answerSpaceQuestion, isSpaceQuestion } from './space-question.ts';

/** Each keeps all live tokens of a cluster in mind. Two replicas of an endpoint need two, and twice as many while they are replaced. */
const maxStreamsOfCluster = 4;

/** Streams the credentials that are good in one cluster to the agent of its direct endpoint. */
export function streamCredentials(
  services: StreamServices & Pick<EndpointServices, 'permissions'>,
): Endpoint {
  const streams = new OpenStreams(maxStreamsOfCluster);
  return async (request) => {
    try {
      const refusal = await findRefusal(request, services);
      // Who left meanwhile gets no stream: no limit would count it.
      if (request.response.destroyed) return;
      if (refusal !== undefined) return request.refuse(refusal);
      if (!isWatch(request)) return await answerSpaceQuestion(request, services);
      await streamWithin(streams, request, services);
    } catch (error) {
      if (request.response.headersSent) request.response.destroy();
      else answerFailure(request, error as Error);
    }
  };
}

async function streamWithin(
  streams: OpenStreams,
  request: EndpointRequest,
  services: StreamServices,
): Promise<void> {
  const { name } = request.asked;
  const cluster = services.targetRecords.clusters.get(name);
  if (cluster === undefined || cluster.deleted !== undefined) return request.refuse(noCluster);
  const leave = streams.enter(name, request.response);
  try {
    beginStream(request);
    await new CredentialStream(request, services, cluster).run();
  } finally {
    leave();
  }
}

async function findRefusal(
  request: EndpointRequest,
  { permissions }: Pick<EndpointServices, 'permissions'>,
): Promise<ErrorAnswer | undefined> {
  const { asked, sender } = request;
  const { identity } = sender.verdict;
  if (!isAgentOf(sender.verdict, asked.name)) return notAgent;
  if (!isWatch(request) && !isSpaceQuestion(request)) return notWatched;
  const right = rightToFollow(asked.name);
  return (await permissions.isAllowed(identity, right)) ? undefined : entryDenial(identity, right);
}

/** A scope that opens everything, or none at all, does not open this. */
const isAgentOf = ({ record, gates }: Verdict, cluster: string): boolean =>
  record.kind === 'OwnedAccessKey' && gates.some(({ agentOf }) => agentOf?.has(cluster) === true);

const isWatch = (request: EndpointRequest): boolean =>
  request.request.method === 'GET' &&
  request.asked.apiVersion === version &&
  queryOf(request).get('watch') === 'true';

const notAgent = errorAnswer('ERR_SCOPE', {
  problem: 'livecredentials is for a key whose own scope has the role agent and names this cluster',
});
const notWatched = errorAnswer('ERR_REQUEST_MALFORMED', {
  problem: 'livecredentials is a stream: send a GET with the query watch=true',
});
const noCluster = errorAnswer('ERR_TARGET_UNKNOWN', {});
