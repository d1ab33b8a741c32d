import { finalizers } from '../../../api/names.ts';
import type { VirtualClusterInstanceRecord } from '../../../platform/targets/target-record.ts';
import type { TargetStep } from '../target-step.ts';

/**
 * What is to be done about a virtual cluster. It is ready when its own API server can be used: `spec.clusterRef` says
 * where it runs, which need not be a cluster that is connected, and readiness does not depend on it.
 */
export function decideInstance(record: VirtualClusterInstanceRecord): TargetStep {
  const { uid, kubeConfig, clusterRole } = record;
  const connection = { owner: { kind: record.kind, uid }, kubeConfig, clusterRole };
  const isHeld = record.finalizers.includes(finalizers.VirtualClusterInstance);
  if (record.deleted !== undefined) return isHeld ? { step: 'finalize', connection } : { step: 'leave' };
  return isHeld ? { step: 'connect', connection } : { step: 'addFinalizer' };
}
