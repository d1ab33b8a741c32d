/**
 * An API server that is cut off from its etcd opens every watch and never says that it knows nothing: each one is proved by a list
 * before it, and soon comes the next.
 */
export const proven = { proofTimeoutMs: 5_000, watchSeconds: [10, 20] } as const;
