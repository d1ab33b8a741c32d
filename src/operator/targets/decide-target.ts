import { defined } from '../../api/json.ts';
import { finalizers } from '../../api/names.ts';
import { reasons } from '../../api/reasons.ts';
import type { ClusterRecord, VirtualClusterInstanceRecord } from '../../platform/targets/target-record.ts';
import type { Connection } from './target-connector.ts';
import { connected, type DesiredTargetStatus, refused } from './target-status.ts';

/** The next step for a target of credentials. */
export type TargetStep =
  /** It is being deleted and holds nothing of ours any more. */
  | { readonly step: 'leave' }
  | { readonly step: 'addFinalizer' }
  /** Make it usable and report how that went. */
  | { readonly step: 'connect'; readonly connection: Connection }
  /** Take everything back that was made; without a connection nothing was. */
  | { readonly step: 'finalize'; readonly connection?: Connection }
  /** Only the status is to be written. */
  | { readonly step: 'commit'; readonly desired: DesiredTargetStatus };

/**
 * A virtual cluster is ready when its own API server can be used. `spec.clusterRef` says where it runs. That need not
 * be a connected cluster, so readiness does not depend on it.
 */
export function decideInstance(record: VirtualClusterInstanceRecord): TargetStep {
  const { kind, uid, kubeConfig, clusterRole } = record;
  const connection = { owner: { kind, uid }, kubeConfig, clusterRole };
  const isHeld = record.finalizers.includes(finalizers.VirtualClusterInstance);
  if (record.deleted !== undefined) return isHeld ? { step: 'finalize', connection } : { step: 'leave' };
  return isHeld ? { step: 'connect', connection } : { step: 'addFinalizer' };
}

/** A connected cluster without an administrator kubeconfig is never dialled. */
export function decideCluster(record: ClusterRecord): TargetStep {
  const { kind, uid, kubeConfig, deleted } = record;
  const connection = kubeConfig && { owner: { kind, uid }, kubeConfig };
  const isHeld = record.finalizers.includes(finalizers.Cluster);
  if (deleted !== undefined) {
    if (!isHeld) return { step: 'leave' };
    return { step: 'finalize', ...defined({ connection }) };
  }
  if (connection === undefined) return { step: 'commit', desired: undialled(record) };
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
    'This Cluster has no address: set spec.directEndpoint.host, or delete it and create it with spec.kubeConfigSecretRef.',
};
