import type { Clock } from '../clock.ts';

export interface FreshnessOptions {
  readonly clock: Clock;
  /** From which age on nothing is believed, milliseconds; absent: never. */
  readonly relistAfterMs?: number | undefined;
  /** How long the proof before a watch may take, milliseconds. */
  readonly proofTimeoutMs: number;
  /** How old the proof of a healthy server gets, milliseconds. */
  readonly healthyMs: number;
}

/** How old what a reflector holds is, by what the server has shown; and whether a watch may still bring what was missed. */
export class Freshness {
  readonly #options: FreshnessOptions;
  #hasSynced = false;
  #proof = Number.NEGATIVE_INFINITY;
  #listed = Number.NEGATIVE_INFINITY;

  constructor(options: FreshnessOptions) {
    this.#options = options;
  }

  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** Milliseconds; infinite before the first sync. */
  get ageMs(): number {
    return this.#hasSynced ? this.#options.clock.monotonic() - this.#proof : Number.POSITIVE_INFINITY;
  }

  /** All that had happened by this monotonic time is known. */
  prove(since: number): void {
    this.#proof = since;
  }

  /** A list is complete, which proves what had happened by `since`. */
  listed(since: number): void {
    this.#hasSynced = true;
    this.#listed = this.#options.clock.monotonic();
    this.prove(since);
  }

  /** Before a watch: with the proof ahead of it, it would open too late. */
  get isLate(): boolean {
    const { relistAfterMs, proofTimeoutMs, healthyMs } = this.#options;
    return (
      relistAfterMs !== undefined && this.#outageMs > Math.max(relistAfterMs - proofTimeoutMs, healthyMs)
    );
  }

  /**
   * When a watch opens: what was missed comes now, and nothing tells when all of it has. What no one believed so far must not count as
   * fresh in that moment.
   */
  get isTooLate(): boolean {
    const { relistAfterMs = Number.POSITIVE_INFINITY } = this.#options;
    return this.#outageMs >= relistAfterMs;
  }

  /** However long a list took, there is time for a watch behind it: otherwise it would come again and again. */
  get #outageMs(): number {
    return this.#options.clock.monotonic() - Math.max(this.#proof, this.#listed);
  }
}
