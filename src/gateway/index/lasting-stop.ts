import { conditionTypes, findCondition } from '../../api/conditions.ts';
import { asCount, asObject } from '../../api/json.ts';
import { reasons } from '../../api/reasons.ts';
import { parseConditions } from '../../credentials/confirmation.ts';
import type { LiveRecord } from '../../credentials/record.ts';
import type { KubeObject } from '../../kube/object.ts';

/**
 * Whether a key that was disabled is enabled by its spec alone. The policy that says who may enable it may be away for a moment, so only
 * the operator ends an emergency stop. While none runs, the key stays disabled. All other keys work on.
 */
export function isStillStopped(object: KubeObject, previous: LiveRecord | undefined): boolean {
  const status = asObject((object as { status?: unknown }).status);
  const { uid, generation = 0 } = object.metadata;
  if ((asCount(status['observedGeneration']) ?? 0) >= generation) return false;
  const ready = findCondition(parseConditions(status['conditions']), conditionTypes.ready);
  // No condition says that it was disabled if no operator has seen it, but this process may have.
  return ready?.reason === reasons.disabled || (previous?.uid === uid && previous.disabled);
}
