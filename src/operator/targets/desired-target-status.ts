import { type Reason, reasons } from '../../api/reasons.ts';
import type { TargetProblem } from '../../platform/targets/target-problem.ts';
import type { DesiredCondition, DesiredReady } from '../shared/conditions.ts';

/** The status that something which credentials point at should have. */
export interface DesiredTargetStatus {
  readonly phase: 'Pending' | 'Ready' | 'Failed' | 'Terminating';
  readonly ready: DesiredReady;
  /** Present while something that the operator waits for is missing. */
  readonly reconciling?: DesiredCondition;
  /** Present when nothing changes until a person changes something. */
  readonly stalled?: DesiredCondition;
}

/** What no waiting mends. */
const stalling = new Set<Reason>([
  reasons.kubeConfigRefused,
  reasons.addressRefused,
  reasons.secretConflict,
  reasons.targetInUse,
]);

/** What is usual while the parts of a target are still being made. */
const early = new Set<Reason>([reasons.kubeConfigNotFound, reasons.clusterNotFound, reasons.clusterNotReady]);

/** It can be used. */
export function connected(message: string): DesiredTargetStatus {
  return { phase: 'Ready', ready: { status: 'True', reason: reasons.connected, message } };
}

/** It cannot be used. `final`: whatever the reason, nothing changes until a person changes something. */
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
