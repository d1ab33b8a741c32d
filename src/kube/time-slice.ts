import type { Clock } from './clock.ts';

/**
 * Keeps a loop that never waits for I/O from holding the event loop: after the budget it lets timers, sockets and
 * lease renewals run first.
 */
export class TimeSlice {
  readonly #clock: Clock;
  readonly #budgetMs: number;
  #started: number;

  constructor(clock: Clock, budgetMs = 10) {
    this.#clock = clock;
    this.#budgetMs = budgetMs;
    this.#started = clock.monotonic();
  }

  get used(): boolean {
    return this.#clock.monotonic() - this.#started >= this.#budgetMs;
  }

  async yield(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.#started = this.#clock.monotonic();
  }
}
