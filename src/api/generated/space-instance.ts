// Generated from crds/spaceinstances.yaml by `npm run generate`. Do not edit.

import type { Condition } from '../conditions.ts';
import type { ObjectMeta } from '../object-meta.ts';

/**
 * A namespace of a connected cluster that belongs to a project and that credentials can point at.
 */
export interface SpaceInstance {
  /**
   * Version of the API, `management.platform.sh/v1`.
   */
  apiVersion: string;
  /**
   * Kind of the object, `SpaceInstance`.
   */
  kind: string;
  metadata: ObjectMeta;
  spec: SpaceInstanceSpec;
  status?: SpaceInstanceStatus;
}
/**
 * Place of the space.
 */
export interface SpaceInstanceSpec {
  /**
   * Name shown to people.
   */
  displayName?: string;
  clusterRef?: SpaceInstanceSpecClusterRef;
  /**
   * Rights that other platforms keep here. Latchkey takes none: the list must stay empty.
   */
  extraAccessRules?: SpaceInstanceSpecExtraAccessRule[];
}
/**
 * The namespace that the space is. It never changes.
 */
export interface SpaceInstanceSpecClusterRef {
  /**
   * Name of the connected Cluster.
   */
  cluster?: string;
  /**
   * Namespace in that cluster.
   */
  namespace?: string;
}
export interface SpaceInstanceSpecExtraAccessRule {
  [k: string]: unknown;
}
/**
 * Observations of the operator. No one else may write them.
 */
export interface SpaceInstanceStatus {
  /**
   * State of the object in one or two words for people: Ready, Disabled, Expired, Deleting, Waiting or Refused, with the reason in brackets. Programs read the conditions.
   */
  state?: string;
  /**
   * State of the space in one word, for people and older clients.
   */
  phase?: 'Pending' | 'Ready' | 'Failed' | 'Terminating';
  /**
   * Conditions after the conventions of kstatus: Ready, Reconciling, Stalled and those that belong to the kind.
   */
  conditions?: Condition[];
  confirmed?: SpaceInstanceStatusConfirmed;
  /**
   * The metadata.generation that the operator last reconciled; -1 before the first time.
   */
  observedGeneration?: number;
}
/**
 * References of the spec that the operator uses: it has asked whether those who wrote them have a right to what they name.
 */
export interface SpaceInstanceStatusConfirmed {
  clusterRef?: SpaceInstanceStatusConfirmedClusterRef;
}
/**
 * Place from spec.clusterRef.
 */
export interface SpaceInstanceStatusConfirmedClusterRef {
  /**
   * Name of the Cluster.
   */
  cluster?: string;
  /**
   * UID of that Cluster; one that is made again is asked about again.
   */
  uid?: string;
  /**
   * Namespace in that cluster.
   */
  namespace?: string;
}
