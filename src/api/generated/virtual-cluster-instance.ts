// Generated from crds/virtualclusterinstances.yaml by `npm run generate`. Do not edit.

import type { Condition } from '../conditions.ts';
import type { ObjectMeta } from '../object-meta.ts';

/**
 * A virtual cluster that belongs to a project and that credentials can point at.
 */
export interface VirtualClusterInstance {
  /**
   * Version of the API, `management.platform.sh/v1`.
   */
  apiVersion: string;
  /**
   * Kind of the object, `VirtualClusterInstance`.
   */
  kind: string;
  metadata: ObjectMeta;
  spec: VirtualClusterInstanceSpec;
  status?: VirtualClusterInstanceStatus;
}
/**
 * Place of the virtual cluster, access to it, and rights inside.
 */
export interface VirtualClusterInstanceSpec {
  /**
   * Name shown to people.
   */
  displayName?: string;
  /**
   * Purpose of the virtual cluster, in free text.
   */
  description?: string;
  owner?: VirtualClusterInstanceSpecOwner;
  clusterRef?: VirtualClusterInstanceSpecClusterRef;
  /**
   * Address that Latchkey dials, in place of the server in the administrator kubeconfig: an https URL without user name and password. Its certificate must be of the authority in that kubeconfig. Without this field, https://localhost:8443 in a kubeconfig stands for the Service of the virtual cluster in this namespace, port 443. It never changes.
   */
  server?: string;
  accessPoint?: VirtualClusterInstanceSpecAccessPoint;
  access?: VirtualClusterInstanceSpecAccess;
  /**
   * Rights that other platforms keep here. Latchkey takes none: the list must stay empty.
   */
  extraAccessRules?: VirtualClusterInstanceSpecExtraAccessRule[];
  kubeConfigSecretRef?: VirtualClusterInstanceSpecKubeConfigSecretRef;
}
/**
 * The user or the team that the instance belongs to, for people to read. It grants nothing.
 */
export interface VirtualClusterInstanceSpecOwner {
  /**
   * Name of the user. It grants nothing; rights come from the verbs `use` and `use-as-admin`.
   */
  user?: string;
  /**
   * Name of the team. It grants nothing, as `user`.
   */
  team?: string;
}
/**
 * Cluster and namespace in which the virtual cluster runs. It never changes.
 */
export interface VirtualClusterInstanceSpecClusterRef {
  /**
   * Name of the connected Cluster.
   */
  cluster?: string;
  /**
   * Namespace in that cluster.
   */
  namespace?: string;
  /**
   * Name of the virtual cluster in that namespace. Defaults to metadata.name.
   */
  virtualCluster?: string;
}
/**
 * Access to the virtual cluster from outside.
 */
export interface VirtualClusterInstanceSpecAccessPoint {
  ingress?: VirtualClusterInstanceSpecAccessPointIngress;
}
/**
 * Access through an ingress that passes TLS through to the virtual cluster.
 */
export interface VirtualClusterInstanceSpecAccessPointIngress {
  /**
   * Tells whether there is such an ingress.
   */
  enabled?: boolean;
  /**
   * Host name of the ingress, with a port when it is not 443.
   */
  host?: string;
}
/**
 * Rights of the users of the instance inside the virtual cluster.
 */
export interface VirtualClusterInstanceSpecAccess {
  /**
   * Name of the ClusterRole that they get there, which must exist there: one that does not gives them nothing, and the instance is Ready all the same. Defaults to `cluster-admin`.
   */
  clusterRole?: string;
}
export interface VirtualClusterInstanceSpecExtraAccessRule {
  [k: string]: unknown;
}
/**
 * Secret in the same namespace with an administrator kubeconfig of the virtual cluster. It never changes.
 */
export interface VirtualClusterInstanceSpecKubeConfigSecretRef {
  /**
   * Name of the Secret. Defaults to `vc-` and spec.clusterRef.virtualCluster, or without that metadata.name.
   */
  name?: string;
  /**
   * Key within the Secret. Defaults to `config`.
   */
  key?: string;
}
/**
 * Observations of the operator. No one else may write them.
 */
export interface VirtualClusterInstanceStatus {
  /**
   * State of the object in one or two words for people: Ready, Disabled, Expired, Deleting, Waiting or Refused, with the reason in brackets. Programs read the conditions.
   */
  state?: string;
  /**
   * State of the instance in one word, for people and older clients; `Ready` when it can be used.
   */
  phase?: 'Pending' | 'Ready' | 'Failed' | 'Terminating';
  /**
   * Conditions after the conventions of kstatus: Ready, Reconciling, Stalled and those that belong to the kind.
   */
  conditions?: Condition[];
  confirmed?: VirtualClusterInstanceStatusConfirmed;
  /**
   * The metadata.generation that the operator last reconciled; -1 before the first time.
   */
  observedGeneration?: number;
  virtualCluster?: VirtualClusterInstanceStatusVirtualCluster;
  /**
   * Address to which spec.accessPoint.ingress leads, as an https URL; absent without an ingress. Latchkey does not check that the virtual cluster answers there.
   */
  endpoint?: string;
}
/**
 * References of the spec that the operator uses: it has asked whether those who wrote them have a right to what they name.
 */
export interface VirtualClusterInstanceStatusConfirmed {
  secretRef?: VirtualClusterInstanceStatusConfirmedSecretRef;
  /**
   * Address from spec.server.
   */
  server?: string;
  clusterRef?: VirtualClusterInstanceStatusConfirmedClusterRef;
}
/**
 * Secret with the administrator kubeconfig.
 */
export interface VirtualClusterInstanceStatusConfirmedSecretRef {
  /**
   * Namespace of the Secret.
   */
  namespace?: string;
  /**
   * Name of the Secret.
   */
  name?: string;
  /**
   * Key within the Secret.
   */
  key?: string;
}
/**
 * Place from spec.clusterRef.
 */
export interface VirtualClusterInstanceStatusConfirmedClusterRef {
  /**
   * Name of the Cluster.
   */
  cluster?: string;
  /**
   * Namespace in that cluster.
   */
  namespace?: string;
  /**
   * Name of the virtual cluster in that namespace.
   */
  virtualCluster?: string;
}
/**
 * Findings about the virtual cluster.
 */
export interface VirtualClusterInstanceStatusVirtualCluster {
  accessPoint?: VirtualClusterInstanceStatusVirtualClusterAccessPoint;
}
/**
 * Access to the virtual cluster from outside.
 */
export interface VirtualClusterInstanceStatusVirtualClusterAccessPoint {
  ingress?: VirtualClusterInstanceStatusVirtualClusterAccessPointIngress;
}
/**
 * Access through an ingress.
 */
export interface VirtualClusterInstanceStatusVirtualClusterAccessPointIngress {
  /**
   * Tells whether the spec names an ingress. Latchkey does not check that it leads anywhere.
   */
  enabled?: boolean;
}
