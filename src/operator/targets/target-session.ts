import type { KubeClient } from '../../kube/client/client.ts';
import type { Clock } from '../../kube/clock.ts';

/** One check of a target, within a time limit. */
export interface TargetSession {
  readonly client: KubeClient;
  /** Options of the next request: what is left of the time for the whole check. */
  readonly limits: () => { readonly timeoutMs: number; readonly retries: number };
}

const maxRequestMs = 5_000;
/** A target that answers slowly must not keep a worker from all others. */
const maxSessionMs = 15_000;

export function openSession(client: KubeClient, clock: Clock): TargetSession {
  const end = clock.monotonic() + maxSessionMs;
  const limits = () => ({
    timeoutMs: Math.max(1, Math.min(maxRequestMs, end - clock.monotonic())),
    retries: 1,
  });
  return { client, limits };
}
