import type { Clock, Timer } from '../../src/kube/clock.ts';

interface Pending {
  readonly at: number;
  readonly sequence: number;
  readonly callback: () => void;
}

/** A clock for tests: time moves only by `advance` and `set`. */
export class FakeClock implements Clock {
  #now: number;
  #monotonic = 0;
  #sequence = 0;
  readonly #pending = new Set<Pending>();

  constructor(now: number = Date.UTC(2026, 0, 1)) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  setTimer(callback: () => void, delayMs: number): Timer {
    const pending: Pending = {
      at: this.#monotonic + Math.max(0, delayMs),
      sequence: this.#sequence++,
      callback,
    };
    this.#pending.add(pending);
    return { cancel: () => this.#pending.delete(pending) };
  }

  /** Moves both clocks and runs the timers that fall due, in order. Promises settle only when the caller awaits. */
  advance(ms: number): void {
    const end = this.#monotonic + ms;
    for (let next = this.#earliest(end); next !== undefined; next = this.#earliest(end)) {
      this.#moveTo(next.at);
      this.#pending.delete(next);
      next.callback();
    }
    this.#moveTo(end);
  }

  /** Advances in steps and lets promises and I/O callbacks run after each. */
  async advanceAsync(ms: number, stepMs: number = ms): Promise<void> {
    for (let left = ms; left > 0; left -= stepMs) {
      this.advance(Math.min(left, stepMs));
      await this.settle();
    }
  }

  /** Lets promises and I/O callbacks run; time stands still. */
  settle(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve));
  }

  /** The wall clock jumps; the monotonic clock and timers do not notice. */
  set(now: number): void {
    this.#now = now;
  }

  /** Timers that have not fired. */
  get pendingTimers(): number {
    return this.#pending.size;
  }

  #earliest(end: number): Pending | undefined {
    let earliest: Pending | undefined;
    for (const pending of this.#pending) {
      if (pending.at <= end && (earliest === undefined || isBefore(pending, earliest))) earliest = pending;
    }
    return earliest;
  }

  #moveTo(monotonic: number): void {
    this.#now += monotonic - this.#monotonic;
    this.#monotonic = monotonic;
  }
}

function isBefore(a: Pending, b: Pending): boolean {
  return a.at < b.at || (a.at === b.at && a.sequence < b.sequence);
}
