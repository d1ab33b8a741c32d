/** Where credentials lead that the gateway takes. */
export interface GatewayAddress {
  /** The base URL, without a slash at the end. */
  readonly issuer: string;
  /** PEM; absent: clients trust the gateway's certificate anyway. */
  readonly ca?: string;
  /** Authorities in earlier kubeconfigs, by which clients verify the gateway as well. */
  readonly earlierCAs?: readonly string[];
  /** Until it is known whether there is a `ca`: nothing is issued, and what was issued is not judged by it. */
  readonly isCAPending?: boolean;
  /** The namespace of a project is this and the project's name. */
  readonly projectNamespacePrefix: string;
}
