import { type Condition, conditionTypes, findCondition } from '../../api/conditions.ts';
import { reasons } from '../../api/reasons.ts';
import type { Store, StoredRecord } from '../../kube/cache/store.ts';
import type { OperatorMetrics } from '../../telemetry/metrics/operator.ts';

interface Counted extends StoredRecord {
  readonly kind: string;
  readonly conditions: readonly Condition[];
}

/** Keeps the number of objects by kind and state, as they come and go: nothing is counted at a scrape. */
export function countByState<R extends Counted>(
  store: Store<R>,
  gauge: OperatorMetrics['credentials'],
): void {
  store.subscribe(({ previous, current }) => {
    if (previous !== undefined) gauge.dec(labelsOf(previous));
    if (current !== undefined) gauge.inc(labelsOf(current));
  });
}

function labelsOf({ kind, conditions }: Counted) {
  const ready = findCondition(conditions, conditionTypes.ready);
  return { kind, state: ready?.reason ?? reasons.pending };
}
