import type { Resource } from '../../api/resources.ts';
import type { WorkQueue } from '../../kube/queue/work-queue.ts';
import type { WorkResult } from '../../kube/queue/workers.ts';

/** One kind of object, the queue of those that need work, and the work. */
export interface Controller {
  /** Lower-case words with hyphens; stands in metrics and logs. */
  readonly name: string;
  readonly resource: Resource;
  /** Absent: all namespaces, or none for a kind without them. */
  readonly namespace?: string;
  readonly queue: WorkQueue;
  /** How many objects are reconciled at the same time. */
  readonly workers: number;
  /**
   * Level-based: the key names the object, never what happened to it. A rejection brings the key again with back-off.
   * The result says when to reconcile again although nothing changes.
   */
  readonly reconcile: (key: string) => Promise<WorkResult | undefined>;
}

/** Asks to check again at an instant (epoch milliseconds); undefined: only when something changes. */
export function requeueAt(instant: number | undefined, now: number): WorkResult | undefined {
  return instant === undefined ? undefined : { requeueAfterMs: Math.max(0, instant - now) };
}
