// Generated from crds/clusters.yaml by `npm run generate`. Do not edit.

import type { Condition } from '../conditions.ts';
import type { ObjectMeta } from '../object-meta.ts';

/**
 * A connected cluster, where spaces and virtual clusters run.
 */
export interface Cluster {
  /**
   * Version of the API, `management.platform.sh/v1`.
   */
  apiVersion: string;
  /**
   * Kind of the object, `Cluster`.
   */
  kind: string;
  metadata: ObjectMeta;
  spec: ClusterSpec;
  status?: ClusterStatus;
}
/**
 * Access to the cluster.
 */
export interface ClusterSpec {
  /**
   * Name shown to people.
   */
  displayName?: string;
  kubeConfigSecretRef?: ClusterSpecKubeConfigSecretRef;
  directEndpoint?: ClusterSpecDirectEndpoint;
}
/**
 * Secret with an administrator kubeconfig of the cluster. It never changes.
 */
export interface ClusterSpecKubeConfigSecretRef {
  /**
   * Namespace of the Secret.
   */
  namespace: string;
  /**
   * Name of the Secret.
   */
  name: string;
  /**
   * Key within the Secret. Defaults to `config`.
   */
  key?: string;
}
/**
 * Endpoint at which clients reach the cluster without the detour through the central platform.
 */
export interface ClusterSpecDirectEndpoint {
  /**
   * Host name or address, with a port when it is not 443.
   */
  host?: string;
  /**
   * Certificates that sign the server certificate of the endpoint, as PEM in base64. Absent when clients trust it anyway.
   */
  caData?: string;
  /**
   * Place where the scopes of tokens are enforced. `Endpoint`: in the direct endpoint; an API server takes no token that is narrower than a whole cluster. `Webhook`: in its API server too, which asks the authorization webhook of the direct endpoint. Absent: `Endpoint`. Counts for tokens from the next one on.
   */
  enforcement?: 'Endpoint' | 'Webhook';
}
/**
 * Observations of the operator. No one else may write them.
 */
export interface ClusterStatus {
  /**
   * State of the object in one or two words for people: Ready, Disabled, Expired, Deleting, Waiting or Refused, with the reason in brackets. Programs read the conditions.
   */
  state?: string;
  /**
   * State of the cluster in one word, for people and older clients.
   */
  phase?: 'Pending' | 'Ready' | 'Failed' | 'Terminating';
  /**
   * Conditions after the conventions of kstatus: Ready, Reconciling, Stalled and those that belong to the kind.
   */
  conditions?: Condition[];
  confirmed?: ClusterStatusConfirmed;
  /**
   * The metadata.generation that the operator last reconciled; -1 before the first time.
   */
  observedGeneration?: number;
}
/**
 * References of the spec that the operator uses: it has asked whether those who wrote them have a right to what they name.
 */
export interface ClusterStatusConfirmed {
  secretRef?: ClusterStatusConfirmedSecretRef;
}
/**
 * Secret with the administrator kubeconfig.
 */
export interface ClusterStatusConfirmedSecretRef {
  /**
   * Namespace of the Secret.
   */
  namespace?: string;
  /**
   * UID of that namespace; one that is made again is asked about again.
   */
  namespaceUID?: string;
  /**
   * Name of the Secret.
   */
  name?: string;
  /**
   * Key within the Secret.
   */
  key?: string;
}
