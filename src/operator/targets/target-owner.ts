/** The object that something in a target, or the Secret about it, was made for. */
export interface TargetOwner {
  readonly kind: 'VirtualClusterInstance' | 'Cluster';
  readonly uid: string;
}
