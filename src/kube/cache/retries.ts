import { BackOff } from '../back-off.ts';
import type { Clock } from '../clock.ts';
import { Outage } from '../outage.ts';
import { retryAfterOf } from './watch-recovery.ts';

export interface RetriesOptions {
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** First and longest delay after a failure. Default 200 ms and 30 s. */
  readonly backOffMs?: readonly [number, number];
}

/** The pauses of something that never gives up, longer after each failure, and how long it has been failing. */
export class Retries {
  readonly #clock: Clock;
  readonly #backOff: BackOff;
  readonly #resetAfterMs: number;
  readonly #outage: Outage;
  #failedAt = Number.NEGATIVE_INFINITY;

  constructor({ clock, random, backOffMs: [initialMs, maxMs] = [200, 30_000] }: RetriesOptions) {
    this.#clock = clock;
    this.#backOff = new BackOff({ initialMs, maxMs, random });
    this.#resetAfterMs = 2 * maxMs;
    this.#outage = new Outage(clock);
  }

  /** How long to wait before the next try, in milliseconds. */
  failed(error: unknown): number {
    const now = this.#clock.monotonic();
    this.#outage.failed(error);
    if (now - this.#failedAt > this.#resetAfterMs) this.#backOff.reset();
    this.#failedAt = now;
    return Math.max(this.#backOff.next(), 1000 * (retryAfterOf(error) ?? 0));
  }

  succeeded(): void {
    this.#outage.ended();
  }

  /** For a health check: how long each try has failed, and why, where that is longer than this. */
  outage(maxMs: number): string | undefined {
    return this.#outage.problem(maxMs);
  }
}
