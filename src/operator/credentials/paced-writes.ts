import type { Clock } from '../../kube/clock.ts';
import { WriteBudget } from '../../kube/queue/write-budget.ts';

/**
 * Spreads writes that many credentials need at once and that can wait: verifiers do not depend on them. Each credential keeps the
 * place in line that it was given when it asked first.
 */
export class PacedWrites {
  readonly #clock: Clock;
  readonly #budget: WriteBudget;
  readonly #onWaiting: (count: number) => void;
  /** When each waiting credential may be written, on the monotonic clock. */
  readonly #places = new Map<string, number>();

  /** `onWaiting` gets the number of those that wait for their turn, for a metric. */
  constructor(clock: Clock, writesPerSecond: number, onWaiting: (count: number) => void = () => undefined) {
    this.#clock = clock;
    this.#budget = new WriteBudget({ rate: writesPerSecond, burst: writesPerSecond });
    this.#onWaiting = onWaiting;
    onWaiting(0);
  }

  /** Milliseconds until this credential may be written; 0: now, and its place in line is used up. */
  reserve(uid: string): number {
    const now = this.#clock.monotonic();
    const place = this.#places.get(uid) ?? now + this.#budget.reserve(now);
    if (place <= now) {
      this.forget(uid);
      return 0;
    }
    this.#places.set(uid, place);
    this.#onWaiting(this.#places.size);
    return place - now;
  }

  forget(uid: string): void {
    if (this.#places.delete(uid)) this.#onWaiting(this.#places.size);
  }
}
