import { formatMicroTime } from '../../api/instant.ts';
import type { KubeObject } from '../object.ts';

/** `coordination.k8s.io/v1`, as far as we read it. Other fields pass through unchanged. */
export interface Lease extends KubeObject {
  spec?: LeaseSpec;
}

export interface LeaseSpec {
  holderIdentity?: string;
  leaseDurationSeconds?: number;
  acquireTime?: string;
  renewTime?: string;
  leaseTransitions?: number;
}

export interface Claim {
  readonly identity: string;
  readonly leaseDurationMs: number;
  /** Wall clock: only people read it from the lease. */
  readonly now: number;
}

/** The spec after we take or renew the lease. */
export function claimedSpec(
  before: LeaseSpec | undefined,
  { identity, leaseDurationMs, now }: Claim,
): LeaseSpec {
  const renewal = {
    leaseDurationSeconds: Math.ceil(leaseDurationMs / 1000),
    renewTime: formatMicroTime(now),
  };
  if (before?.holderIdentity === identity) return { ...before, ...renewal };
  const transitions = before === undefined ? 0 : (before.leaseTransitions ?? 0) + 1;
  return {
    ...before,
    ...renewal,
    holderIdentity: identity,
    acquireTime: formatMicroTime(now),
    leaseTransitions: transitions,
  };
}

/** The spec after we give the lease back: free for the next candidate. */
export function releasedSpec(before: LeaseSpec | undefined, now: number): LeaseSpec {
  return { ...before, holderIdentity: '', leaseDurationSeconds: 1, renewTime: formatMicroTime(now) };
}
