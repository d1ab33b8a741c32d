import type { Problem } from '../../api/reasons.ts';
import { type BackOffOptions, backOffDelay } from '../../kube/back-off.ts';
import type { Clock } from '../../kube/clock.ts';

/** A try that failed. */
export interface FailedTry<P extends Problem = Problem> {
  readonly problem: P;
  /** Milliseconds until the next one. */
  readonly waitMs: number;
}

interface Entry<P> {
  readonly attemptKey: string;
  readonly problem: P;
  readonly failures: number;
  /** When it was tried, on the monotonic clock. */
  readonly triedAt: number;
  /** On the same clock. */
  readonly notBefore: number;
}

/** Objects whose failures are remembered; beyond it the oldest is tried again at once. */
const maxEntries = 20_000;

/**
 * When to try again what failed elsewhere, by UID. A reconcile for another reason, as our own write, must not be a further
 * try. A change of what the try depends on (its `attemptKey`) must.
 */
export class RetrySchedule<P extends Problem = Problem> {
  readonly #clock: Clock;
  readonly #options: BackOffOptions;
  readonly #entries = new Map<string, Entry<P>>();

  constructor(clock: Clock, options: BackOffOptions) {
    this.#clock = clock;
    this.#options = options;
  }

  /** The last try, as long as it is too early for the next. */
  waiting(uid: string, attemptKey: string): FailedTry<P> | undefined {
    const entry = this.#entries.get(uid);
    if (entry === undefined || entry.attemptKey !== attemptKey) return undefined;
    const waitMs = entry.notBefore - this.#clock.monotonic();
    return waitMs > 0 ? { problem: entry.problem, waitMs } : undefined;
  }

  /** Why the last try failed, however long ago that was. */
  last(uid: string, attemptKey: string): P | undefined {
    const entry = this.#entries.get(uid);
    return entry?.attemptKey === attemptKey ? entry.problem : undefined;
  }

  failed(uid: string, attemptKey: string, problem: P): FailedTry<P> {
    const before = this.#entries.get(uid);
    const failures = before?.attemptKey === attemptKey ? before.failures : 0;
    const waitMs = backOffDelay(failures, this.#options);
    const triedAt = this.#clock.monotonic();
    this.#entries.delete(uid);
    this.#entries.set(uid, {
      ...{ attemptKey, problem, failures: failures + 1 },
      ...{ triedAt, notBefore: triedAt + waitMs },
    });
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= maxEntries) break;
      this.#entries.delete(oldest);
    }
    return { problem, waitMs };
  }

  /**
   * The obstacle may be gone: the pause is the first, short one again. It is not dropped, for someone else may decide how
   * often that is so.
   */
  resume(uid: string): void {
    const entry = this.#entries.get(uid);
    if (entry === undefined) return;
    const notBefore = Math.min(entry.notBefore, entry.triedAt + backOffDelay(0, this.#options));
    this.#entries.set(uid, { ...entry, failures: 1, notBefore });
  }

  succeeded(uid: string): void {
    this.#entries.delete(uid);
  }
}
