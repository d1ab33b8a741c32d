import { sourceOf } from '../../cidr.ts';
import type { Clock } from '../../kube/clock.ts';

export interface MissesOptions {
  readonly clock: Clock;
  /** From one source address: so many at once, and so many a minute in the long run. 0: no limit. */
  readonly perMinute: number;
  /** Remembered at once. Beyond, those that have been quiet for longest are forgotten, and may begin again. */
  readonly maxAddresses: number;
}

const minuteMs = 60_000;

/**
 * Requests without a live credential, by source address. It is asked only once a request is refused anyway: a live credential
 * passes from any address, also while others there send many misses.
 */
export class Misses {
  readonly #options: MissesOptions;
  /** When the allowance of an address is whole again. Nothing is ever further away than a minute. */
  #recent = new Map<string, number>();
  #former = new Map<string, number>();
  #since = 0;

  constructor(options: MissesOptions) {
    this.#options = options;
  }

  /** Counts one. True when its address has had too many; those beyond are not counted. */
  isTooMany(address: string): boolean {
    const { clock, perMinute } = this.#options;
    if (perMinute === 0) return false;
    const now = clock.monotonic();
    const source = sourceOf(address);
    const known = this.#recent.get(source) ?? this.#former.get(source) ?? now;
    const next = Math.max(now, known) + minuteMs / perMinute;
    // Sums of fractions are a little off: without the millisecond the last one of a minute would be refused now and then.
    if (next - now > minuteMs + 1) return true;
    this.#forget(now);
    this.#recent.set(source, next);
    return false;
  }

  /** Forgets addresses after a minute without misses: their whole allowance is back. */
  #forget(now: number): void {
    if (now - this.#since < minuteMs && this.#recent.size < this.#options.maxAddresses / 2) return;
    this.#former = this.#recent;
    this.#recent = new Map();
    this.#since = now;
  }
}
