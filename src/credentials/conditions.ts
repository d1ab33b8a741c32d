import type { Condition } from '../api/conditions.ts';
import { asCount, asObject, asText, type JsonObject } from '../api/json.ts';
import type { Slots } from './record.ts';
import { shared } from './shared-values.ts';

/** `status.conditions`; what has no type is left out. */
export function parseConditions(value: unknown): readonly Condition[] {
  if (!Array.isArray(value)) return [];
  return value
    .map(asObject)
    .filter(({ type }) => asText(type) !== undefined)
    .map(toCondition);
}

function toCondition({ type, status, reason, message, ...rest }: JsonObject): Condition {
  return {
    type: shared.text(asText(type)),
    status: shared.text(asText(status)),
    reason: shared.text(asText(reason)),
    message: typeof message === 'string' ? shared.text(message) : undefined,
    observedGeneration: asCount(rest['observedGeneration']),
    lastTransitionTime: asText(rest['lastTransitionTime']),
  } satisfies Record<keyof Slots<Condition>, unknown> as Condition;
}
