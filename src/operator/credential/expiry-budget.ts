import type { Clock } from '../../kube/clock.ts';
import { WriteBudget } from '../../kube/rate-limiter.ts';

/**
 * Spreads the writes of credentials that end together. Verifiers refuse them by the clock already, so only the record
 * of it is late. Each credential keeps the place in line that it was given when it asked first.
 */
export class ExpiryBudget {
  readonly #clock: Clock;
  readonly #budget: WriteBudget;
  /** When each waiting credential may be written, on the monotonic clock. */
  readonly #places = new Map<string, number>();

  constructor(clock: Clock, writesPerSecond: number) {
    this.#clock = clock;
    this.#budget = new WriteBudget({ rate: writesPerSecond, burst: writesPerSecond });
  }

  /** Credentials that wait for their turn. */
  get waiting(): number {
    return this.#places.size;
  }

  /** Milliseconds until this credential may be written; 0: now, and its place in line is used up. */
  reserve(uid: string): number {
    const now = this.#clock.monotonic();
    const place = this.#places.get(uid) ?? now + this.#budget.reserve(now);
    if (place <= now) {
      this.#places.delete(uid);
      return 0;
    }
    this.#places.set(uid, place);
    return place - now;
  }

  forget(uid: string): void {
    this.#places.delete(uid);
  }
}
