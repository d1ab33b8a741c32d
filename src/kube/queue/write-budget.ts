export interface WriteBudgetOptions {
  /** Writes a second, in the long run. */
  readonly rate: number;
  /** Writes that may be made at once after a pause. */
  readonly burst: number;
}

/** Sums of floating-point times are off by less than this many milliseconds. */
const epsilonMs = 1e-6;

/**
 * A token bucket that returns how long to wait instead of waiting. Each reservation takes its place in line, so callers
 * go in the order in which they asked. A reservation counts even if its caller does not write.
 */
export class WriteBudget {
  readonly #intervalMs: number;
  readonly #burst: number;
  /** When the bucket would be full again were nothing more reserved. */
  #fullAt = Number.NEGATIVE_INFINITY;

  constructor({ rate, burst }: WriteBudgetOptions) {
    if (!(rate > 0) || !(burst >= 1))
      throw new RangeError('WriteBudget: rate must be above 0 and burst at least 1');
    this.#intervalMs = 1000 / rate;
    this.#burst = burst;
  }

  /** Takes one write. Returns the milliseconds until it may be made. `now` is monotonic. */
  reserve(now: number): number {
    this.#fullAt = this.#nextFullAt(now);
    return this.#waitMs(now, this.#fullAt);
  }

  /** Takes one write when it may be made now, otherwise none. */
  tryReserve(now: number): boolean {
    if (this.#waitMs(now, this.#nextFullAt(now)) > 0) return false;
    this.reserve(now);
    return true;
  }

  #nextFullAt(now: number): number {
    return Math.max(this.#fullAt, now) + this.#intervalMs;
  }

  #waitMs(now: number, fullAt: number): number {
    const waitMs = fullAt - now - this.#burst * this.#intervalMs;
    return waitMs > epsilonMs ? waitMs : 0;
  }
}
