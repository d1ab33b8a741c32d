import { authorise } from '../../scope/gate/authorise.ts';
import { explainDenial } from '../../scope/gate/explain.ts';
import { isCredentialRequest } from '../../scope/gate/sensitive.ts';
import { apiPrefix } from '../../scope/request-path.ts';
import {
  type ResolvedRequest,
  resolveRequest,
  type SentRequest,
} from '../../scope/requests/resolve-request.ts';
import type { Verdict } from '../index/verdict.ts';
import { type ErrorAnswer, errorAnswer } from '../server/error-answer.ts';

/** What a request asks for, as the API server that it is for will understand it; or the answer to it. */
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
  request: ResolvedRequest,
  spaceNamespace?: string,
): ErrorAnswer | undefined {
  const answer = authorise({ gates: verdict.gates, request, spaceNamespace });
  if (!answer.allowed) {
    const owner = verdict.gateOwners[answer.gate ?? -1] ?? 'the credential';
    return errorAnswer('ERR_SCOPE', { problem: explainDenial(answer, request, owner) });
  }
  // A patch, a dry-run delete and every read show the credential itself, whatever the target.
  return isCredentialRequest(request) ? credentialKind : undefined;
}

const credentialKind = errorAnswer('ERR_CREDENTIAL_KIND', {});
