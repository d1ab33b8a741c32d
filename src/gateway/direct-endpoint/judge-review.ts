import { asObject, asTexts, type JsonObject } from '../../api/json.ts';
import { credentialExtra } from '../../api/names.ts';
import { type ErrorCode, type ErrorValues, errorMessage } from '../../errors.ts';
import { subjectReviewToRequest } from '../../scope/reviews/review-request.ts';
import { explainDenial } from '../gate/authorise.ts';
import type { Verdict } from '../index/verdict.ts';
import type { FollowedCredentials } from './followed-credentials.ts';
import type { ReviewAnswer } from './webhook/webhook-server.ts';

export interface ReviewJudge {
  /** The name of the Cluster. */
  readonly cluster: string;
  readonly followed: Pick<FollowedCredentials, 'findToken'>;
  /** Why nothing is known about tokens. */
  readonly problem: () => string | undefined;
}

/** Whether a token that the API server has taken by itself is still good, and its scope lets the request pass. */
export function judgeReview(spec: JsonObject, { cluster, followed, problem }: ReviewJudge): ReviewAnswer {
  const token = asObject(spec['extra'])[credentialExtra];
  // Everyone else is up to RBAC. The matchConditions spare us these.
  if (token === undefined) return noOpinion;
  if (problem() !== undefined) return denied('ERR_ENDPOINT_OUTAGE', { cluster });
  const [jti, ...others] = asTexts(token);
  const verdict = jti === undefined || others.length > 0 ? undefined : followed.findToken(jti);
  if (verdict === undefined || !speaksFor(verdict, spec))
    return denied('ERR_WEBHOOK_CREDENTIAL', { cluster });
  const request = subjectReviewToRequest(spec, { kind: 'cluster', cluster });
  if (request === undefined) return denied('ERR_REVIEW_UNREADABLE', { problem: 'it is about no request' });
  // The impersonated user has no extra: neither the scope nor the end of the token would count any more.
  if (request.verb.startsWith('impersonate')) return denied('ERR_IMPERSONATION', {});
  const reason = explainDenial(verdict, request, { isPlatform: false });
  return reason === undefined ? noOpinion : denied('ERR_SCOPE', { problem: reason });
}

const noOpinion: ReviewAnswer = { allowed: false, denied: false, reason: '' };

const denied = <Code extends ErrorCode>(code: Code, values: ErrorValues<Code>): ReviewAnswer => ({
  ...{ allowed: false, denied: true },
  reason: `${errorMessage(code, values)} (${code})`,
});

/** A token carries the groups of the day on which it was signed. One that its user has lost since must not count. */
function speaksFor({ identity: { user, groups } }: Verdict, spec: JsonObject): boolean {
  const asked = asTexts(spec['groups']).filter((group) => !group.startsWith('system:'));
  return spec['user'] === user && asked.every((group) => groups.includes(group));
}
