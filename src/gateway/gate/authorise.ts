import { errorMessage } from '../../errors.ts';
import { authorise, type TargetLocation } from '../../scope/gate/authorise.ts';
import { explainDenial as explainScopeDenial } from '../../scope/gate/explain.ts';
import { isCredentialRequest } from '../../scope/gate/sensitive.ts';
import { apiPrefix } from '../../scope/request-path.ts';
import {
  type RequestMeaning,
  type ResolvedRequest,
  resolveRequest,
  type SentRequest,
} from '../../scope/requests/resolve-request.ts';
import type { Verdict } from '../index/verdict.ts';
import { type ErrorAnswer, errorAnswer } from '../server/error-answer.ts';
import { aboutProjects, isExtendedRead } from './answered-reads.ts';
import { isOwnRequest } from './own-objects.ts';

/** A review is about a request that has no query. */
type AskedRequest = RequestMeaning & Pick<Partial<ResolvedRequest>, 'forward'>;

/** Reads what a request asks for, as the API server that it is for will understand it; or returns the answer to it. */
export function resolve(sent: SentRequest): ResolvedRequest | ErrorAnswer {
  const resolved = resolveRequest(sent);
  if (!('problem' in resolved)) return resolved;
  const { code, problem } = resolved;
  return code === 'NoTarget'
    ? errorAnswer('ERR_REQUEST_PATH', { prefix: apiPrefix })
    : errorAnswer('ERR_REQUEST_MALFORMED', { problem });
}

/**
 * Why this credential may not ask for this; `undefined` when it may. What its user may do is up to the target. A space is
 * one namespace.
 */
export function findDenial(
  verdict: Verdict,
  request: AskedRequest,
  place: TargetLocation,
): ErrorAnswer | undefined {
  if (isOwnRequest(request, verdict)) return undefined;
  if (isNamespaceMade(request) && explainScope(verdict, lookAtNamespace(request, place), place) === undefined)
    return undefined;
  const problem = explainScope(verdict, request, place);
  if (problem !== undefined && isListByProject(verdict, request, place)) return undefined;
  if (problem !== undefined) return errorAnswer('ERR_SCOPE', { problem });
  return isOfPlatform(request, place) ? credentialKind : undefined;
}

/**
 * Whether a list over all namespaces may be one of each project that the scope allows. The gateway makes it of lists that are judged one
 * by one, and sends on no other.
 */
const isListByProject = (verdict: Verdict, request: AskedRequest, place: TargetLocation): boolean =>
  request.allNamespaces &&
  isExtendedRead(request) &&
  explainScope(verdict, aboutProjects(request), place) === undefined;

/** Whether a namespace is to be made in a space. Installers do that first, and go on where it is there already. */
export const isNamespaceMade = ({ target, verb, apiGroup, resource, namespace }: RequestMeaning): boolean =>
  target.kind === 'space' &&
  resource === 'namespaces' &&
  verb === 'create' &&
  apiGroup === '' &&
  namespace === '';

/** To who may see the namespace of a space, the gateway says itself that it is there, and that no other one is made. */
const lookAtNamespace = (request: RequestMeaning, { namespace = '' }: TargetLocation): RequestMeaning => ({
  ...request,
  ...{ verb: 'get', name: namespace, namespace },
});

/** The same in words, for an access review. */
export function explainDenial(
  verdict: Verdict,
  request: RequestMeaning,
  place: TargetLocation,
): string | undefined {
  const problem = explainScope(verdict, request, place);
  return problem ?? (isOfPlatform(request, place) ? errorMessage('ERR_CREDENTIAL_KIND', {}) : undefined);
}

/**
 * A patch, a dry-run delete and every read show the credential itself, and a connected cluster may be the platform. The kinds of
 * another one, in a target of its own, hold none of ours.
 */
const isOfPlatform = (request: RequestMeaning, { isPlatform }: TargetLocation): boolean =>
  isPlatform && isCredentialRequest(request);

function explainScope(verdict: Verdict, request: RequestMeaning, place: TargetLocation) {
  const answer = authorise({ gates: verdict.gates, request, place });
  if (answer.allowed) return undefined;
  const owner = verdict.gateOwners[answer.gate ?? -1] ?? 'the credential';
  return explainScopeDenial(answer, request, owner);
}

/** The answer to every other request about credentials. */
export const credentialKind = errorAnswer('ERR_CREDENTIAL_KIND', {});
