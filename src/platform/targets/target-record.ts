import type { Condition } from '../../api/conditions.ts';
import type { StoredRecord } from '../../kube/cache/store.ts';

/** A place in a Secret. */
export interface SecretEntry {
  readonly namespace: string;
  readonly name: string;
  readonly key: string;
}

/** What all kinds that credentials point at have in common. Instants are epoch milliseconds. */
export interface TargetRecord extends StoredRecord {
  readonly kind: 'VirtualClusterInstance' | 'SpaceInstance' | 'Cluster';
  readonly name: string;
  readonly namespace?: string;
  readonly generation: number;
  /** `metadata.deletionTimestamp`. */
  readonly deleted?: number;
  readonly finalizers: readonly string[];
  readonly observedGeneration: number;
  readonly phase?: string;
  /** `status.endpoint`. */
  readonly endpoint?: string;
  readonly conditions: readonly Condition[];
}

export interface VirtualClusterInstanceRecord extends TargetRecord {
  readonly kind: 'VirtualClusterInstance';
  readonly namespace: string;
  /** Where the administrator kubeconfig stands. */
  readonly kubeConfig: SecretEntry;
  /** What users of the instance get inside it. */
  readonly clusterRole: string;
  /** `host[:port]` of an ingress that is switched on. */
  readonly ingressHost?: string;
  /** `status.virtualCluster.accessPoint.ingress.enabled`. */
  readonly ingressEnabled?: boolean;
}

export interface SpaceInstanceRecord extends TargetRecord {
  readonly kind: 'SpaceInstance';
  readonly namespace: string;
  readonly clusterRef?: { readonly cluster: string; readonly namespace: string };
}

export interface ClusterRecord extends TargetRecord {
  readonly kind: 'Cluster';
  /** Where the administrator kubeconfig stands; absent for a cluster that is reached by its direct endpoint only. */
  readonly kubeConfig?: SecretEntry;
  /** `host[:port]` of the direct endpoint. */
  readonly directEndpoint?: string;
}
