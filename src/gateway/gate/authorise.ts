import { errorMessage } from '../../errors.ts';
import { authorise } from '../../scope/gate/authorise.ts';
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
import { isOwnRequest } from './own-objects.ts';

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
  request: RequestMeaning,
  spaceNamespace?: string,
): ErrorAnswer | undefined {
  if (isOwnRequest(request, verdict)) return undefined;
  const problem = explainScope(verdict, request, spaceNamespace);
  if (problem !== undefined) return errorAnswer('ERR_SCOPE', { problem });
  // A patch, a dry-run delete and every read show the credential itself, whatever the target.
  return isCredentialRequest(request) ? credentialKind : undefined;
}

/** The same in words, for an access review. */
export function explainDenial(
  verdict: Verdict,
  request: RequestMeaning,
  spaceNamespace?: string,
): string | undefined {
  const problem = explainScope(verdict, request, spaceNamespace);
  return problem ?? (isCredentialRequest(request) ? errorMessage('ERR_CREDENTIAL_KIND', {}) : undefined);
}

function explainScope(verdict: Verdict, request: RequestMeaning, spaceNamespace: string | undefined) {
  const answer = authorise({ gates: verdict.gates, request, spaceNamespace });
  if (answer.allowed) return undefined;
  const owner = verdict.gateOwners[answer.gate ?? -1] ?? 'the credential';
  return explainScopeDenial(answer, request, owner);
}

/** The answer to every other request about credentials. */
export const credentialKind = errorAnswer('ERR_CREDENTIAL_KIND', {});
