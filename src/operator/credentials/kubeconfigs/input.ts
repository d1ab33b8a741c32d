import type { VirtualClusterInstanceRecord } from '../../../platform/targets/target-record.ts';
import type { IssuedInput } from '../issued/input.ts';

/** All that a decision about one kubeconfig depends on. */
export interface KubeConfigInput extends IssuedInput {
  /** The instance of the name in spec, whatever its UID. */
  readonly instance?: VirtualClusterInstanceRecord;
  /** PEM of the authority that vouches for the virtual cluster's API server; absent: not known now. */
  readonly targetCA?: string;
  readonly gateway: GatewayPlace;
}

/** Where a kubeconfig with a token leads. */
export interface GatewayPlace {
  /** The base URL, without a slash at the end. */
  readonly issuer: string;
  /** PEM; absent: clients trust the gateway's certificate anyway. */
  readonly ca?: string;
  /** The namespace of a project is this and the project's name. */
  readonly projectNamespacePrefix: string;
}
