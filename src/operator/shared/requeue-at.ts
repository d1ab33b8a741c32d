import type { WorkResult } from '../../kube/queue/workers.ts';

/** Asks to look again at an instant (epoch milliseconds); undefined: only when something changes. */
export function until(instant: number | undefined, now: number): WorkResult | undefined {
  return instant === undefined ? undefined : { requeueAfterMs: Math.max(0, instant - now) };
}
