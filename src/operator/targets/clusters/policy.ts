import { finalizers } from '../../../api/names.ts';
import { reasons } from '../../../api/reasons.ts';
import type { ClusterRecord } from '../../../platform/targets/target-record.ts';
import { connected, type DesiredTargetStatus, refused } from '../desired-target-status.ts';
import type { TargetStep } from '../target-step.ts';

/** What is to be done about a connected cluster. */
export function decideCluster(record: ClusterRecord): TargetStep {
  const { kind, uid, kubeConfig, deleted } = record;
  const connection = kubeConfig && { owner: { kind, uid }, kubeConfig };
  const isHeld = record.finalizers.includes(finalizers.Cluster);
  if (deleted !== undefined) {
    if (!isHeld) return { step: 'leave' };
    return { step: 'finalize', ...(connection === undefined ? {} : { connection }) };
  }
  if (connection === undefined) return { step: 'settle', desired: undialled(record) };
  return isHeld ? { step: 'connect', connection } : { step: 'addFinalizer' };
}

function undialled({ directEndpoint }: ClusterRecord): DesiredTargetStatus {
  return directEndpoint === undefined ? refused(nowhere, true) : connected(direct);
}

const direct =
  'Clients reach the cluster at its direct endpoint. Without spec.kubeConfigSecretRef Latchkey does not dial it.';

const nowhere = {
  reason: reasons.kubeConfigNotFound,
  message:
    'There is no way to this cluster: create it with spec.kubeConfigSecretRef, or set spec.directEndpoint.host.',
};
