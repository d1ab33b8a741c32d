import { isDeepStrictEqual } from 'node:util';
import { type ConditionType, conditionTypes, findCondition } from '../../api/conditions.ts';
import { type Reason, reasons } from '../../api/reasons.ts';
import type { TargetProblem } from '../../platform/targets/target-problem.ts';
import type {
  ClusterRecord,
  SpaceInstanceRecord,
  TargetRecord,
  VirtualClusterInstanceRecord,
} from '../../platform/targets/target-record.ts';
import type { TargetReference } from '../../platform/targets/target-reference.ts';
import { conditionsPatch, type DesiredCondition, type DesiredReady } from '../shared/conditions.ts';
import type { TransitionEvent } from '../shared/events.ts';

/** The status that something which credentials point at should have. */
export interface DesiredTargetStatus {
  readonly phase: 'Pending' | 'Ready' | 'Failed' | 'Terminating';
  readonly ready: DesiredReady;
  /** Present while something that the operator waits for is missing. */
  readonly reconciling?: DesiredCondition;
  /** Present when nothing changes until a person changes something. */
  readonly stalled?: DesiredCondition;
  /** The reference in use from now on; absent: as it stands. */
  readonly confirmed?: TargetReference;
}

/** Waiting does not help against these. */
const stalling = new Set<Reason>([
  reasons.kubeConfigRefused,
  reasons.addressRefused,
  reasons.secretConflict,
  reasons.targetInUse,
  reasons.requesterUnknown,
]);

/** Usual while the parts of a target are still being made. */
const early = new Set<Reason>([
  reasons.kubeConfigNotFound,
  reasons.clusterNotFound,
  reasons.clusterNotReady,
  reasons.namespaceNotFound,
]);

/** It can be used. */
export function connected(message: string): DesiredTargetStatus {
  return { phase: 'Ready', ready: { status: 'True', reason: reasons.connected, message } };
}

/** It cannot be used. `final`: nothing changes until a person changes something, whatever the reason. */
export function refused(
  { reason, message }: TargetProblem,
  final = stalling.has(reason),
): DesiredTargetStatus {
  return {
    phase: early.has(reason) && !final ? 'Pending' : 'Failed',
    ready: { status: 'False', reason, message },
    ...(final ? { stalled: { reason, message } } : { reconciling: { reason, message } }),
  };
}

const deleting = { reason: reasons.deleting, message: 'The object is being deleted.' };

/** It is being cleaned up. */
export const terminating: DesiredTargetStatus = {
  phase: 'Terminating',
  ready: { status: 'False', ...deleting },
  reconciling: deleting,
};

/** Any kind that credentials point at. */
export type AnyTargetRecord = VirtualClusterInstanceRecord | SpaceInstanceRecord | ClusterRecord;

/**
 * The merge patch of `status` from `record` to `desired`, or undefined when nothing differs. Targets are checked every
 * minute, and a write without a change would notify every watcher for nothing.
 */
export function targetStatusPatch(
  record: AnyTargetRecord,
  desired: DesiredTargetStatus,
  now: number,
): Record<string, unknown> | undefined {
  const { phase, ready, reconciling, stalled, confirmed } = desired;
  const others: readonly (readonly [ConditionType, DesiredCondition | undefined])[] = [
    [conditionTypes.reconciling, reconciling],
    [conditionTypes.stalled, stalled],
  ];
  const patch = {
    ...(record.phase === phase ? {} : { phase }),
    ...confirmedChange(record, confirmed),
    ...(record.kind === 'VirtualClusterInstance' ? accessChange(record) : {}),
    ...conditionsPatch(record, { ready, others }, now),
  };
  return Object.keys(patch).length === 0 ? undefined : patch;
}

/** A merge patch keeps what it does not name. */
function confirmedChange({ confirmed: present }: AnyTargetRecord, wanted: TargetReference | undefined) {
  if (wanted === undefined || isDeepStrictEqual(present, wanted)) return {};
  const { secretRef, server, clusterRef } = wanted;
  return {
    confirmed: {
      secretRef: secretRef ? { namespaceUID: null, ...secretRef } : null,
      server: server ?? null,
      clusterRef: clusterRef
        ? { cluster: null, uid: null, namespace: null, virtualCluster: null, ...clusterRef }
        : null,
    },
  };
}

/** The address is the ingress in the spec, because the server in the administrator kubeconfig is not public. */
function accessChange({ ingressHost, ingressEnabled, endpoint }: VirtualClusterInstanceRecord) {
  const enabled = ingressHost !== undefined;
  const wanted = enabled ? `https://${ingressHost}` : undefined;
  return {
    ...(endpoint === wanted ? {} : { endpoint: wanted ?? null }),
    ...(ingressEnabled === enabled ? {} : { virtualCluster: { accessPoint: { ingress: { enabled } } } }),
  };
}

/** The event of the transition that the write from `record` to `desired` makes; none for anything else. */
export function targetTransitions(
  { conditions }: Pick<TargetRecord, 'conditions'>,
  { ready }: DesiredTargetStatus,
): readonly TransitionEvent[] {
  const before = findCondition(conditions, conditionTypes.ready);
  const { status, reason, message } = ready;
  if (before?.status === status && before.reason === reason) return [];
  // All objects that wait for the policies wait for the same, which is an event of the Deployment.
  if (reason === reasons.admissionMissing) return [];
  return status === 'True'
    ? [{ type: 'Normal', reason, action: 'Connect', note: message }]
    : [{ type: 'Warning', reason, action: 'Refuse', note: message }];
}
