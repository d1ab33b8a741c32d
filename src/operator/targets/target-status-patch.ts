import { conditionTypes } from '../../api/conditions.ts';
import type {
  ClusterRecord,
  SpaceInstanceRecord,
  VirtualClusterInstanceRecord,
} from '../../platform/targets/target-record.ts';
import { conditionsPatch } from '../shared/conditions.ts';
import type { DesiredTargetStatus } from './desired-target-status.ts';

/** Any kind that credentials point at. */
export type AnyTargetRecord = VirtualClusterInstanceRecord | SpaceInstanceRecord | ClusterRecord;

/**
 * The merge patch of `status` that takes `record` to `desired`, or undefined when it says all of it already: targets
 * are looked at every minute, and a write without a change would wake every watcher for nothing.
 */
export function targetStatusPatch(
  record: AnyTargetRecord,
  desired: DesiredTargetStatus,
  now: number,
): Record<string, unknown> | undefined {
  const { phase, ready, reconciling, stalled } = desired;
  const others = [
    [conditionTypes.reconciling, reconciling],
    [conditionTypes.stalled, stalled],
  ] as const;
  const patch = {
    ...(record.phase === phase ? {} : { phase }),
    ...(record.kind === 'VirtualClusterInstance' ? accessChange(record) : {}),
    ...conditionsPatch(record, { ready, others }, now),
  };
  return Object.keys(patch).length === 0 ? undefined : patch;
}

/** The address is that of the ingress in the spec: what the administrator kubeconfig says is not for people to see. */
function accessChange({ ingressHost, ingressEnabled, endpoint }: VirtualClusterInstanceRecord) {
  const enabled = ingressHost !== undefined;
  const wanted = enabled ? `https://${ingressHost}` : undefined;
  return {
    ...(endpoint === wanted ? {} : { endpoint: wanted ?? null }),
    ...(ingressEnabled === enabled ? {} : { virtualCluster: { accessPoint: { ingress: { enabled } } } }),
  };
}
