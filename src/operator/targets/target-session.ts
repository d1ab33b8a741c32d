import type { KubeClient } from '../../kube/client/client.ts';
import type { Clock } from '../../kube/clock.ts';

/** One look at a target. */
export interface TargetSession {
  readonly client: KubeClient;
  /** Options of the next request: what is left of the time for the whole look. */
  readonly limits: () => { readonly timeoutMs: number; readonly retries: number };
}

/** For one request, milliseconds. */
const longestRequest = 5_000;
/** For a whole look, milliseconds. A target that answers slowly must not keep a worker from all others. */
const longestLook = 15_000;

export function lookAt(client: KubeClient, clock: Clock): TargetSession {
  const end = clock.monotonic() + longestLook;
  const limits = () => ({
    timeoutMs: Math.max(1, Math.min(longestRequest, end - clock.monotonic())),
    retries: 1,
  });
  return { client, limits };
}
