import { conditionTypes } from '../../api/conditions.ts';
import { reasons } from '../../api/reasons.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import type { Store } from '../../kube/store.ts';
import type { Metrics } from '../../telemetry/metrics.ts';

/** Keeps the number of credentials by kind and state, as they come and go: nothing is counted at a scrape. */
export function countCredentials(store: Store<CredentialRecord>, gauge: Metrics['credentials']): void {
  store.subscribe(({ previous, current }) => {
    if (previous !== undefined) gauge.dec(labelsOf(previous));
    if (current !== undefined) gauge.inc(labelsOf(current));
  });
}

function labelsOf({ kind, conditions }: CredentialRecord) {
  const ready = conditions.find(({ type }) => type === conditionTypes.ready);
  return { kind, state: ready?.reason ?? reasons.pending };
}
