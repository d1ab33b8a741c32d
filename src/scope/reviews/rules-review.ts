import { asObject, type JsonObject } from '../../api/json.ts';

/** The answer to a SelfSubjectRulesReview, which knows the rights of the identity and nothing of scopes. */
export function markIncomplete(review: JsonObject): JsonObject {
  const status = asObject(review['status']);
  const evaluationError = 'the scope of the credential allows less than these rules';
  return { ...review, status: { ...status, incomplete: true, evaluationError } };
}
