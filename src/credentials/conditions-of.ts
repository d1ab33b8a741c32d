import type { Condition } from '../api/conditions.ts';
import { asObject, asText } from '../api/json.ts';

/** `status.conditions` as it was sent; what has no type is left out. */
export function conditionsOf(value: unknown): readonly Condition[] {
  if (!Array.isArray(value)) return [];
  return value
    .map(asObject)
    .filter((condition) => asText(condition['type']) !== undefined) as unknown as Condition[];
}
