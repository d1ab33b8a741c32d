import type { Clock, Timer } from '../../../kube/clock.ts';

/** Calls back with what ends, when it ends. There may be 100,000 of them, so timers are made for those of the next second alone. */
export class Ends {
  readonly #clock: Clock;
  readonly #now: () => number;
  readonly #onEnd: (hash: string) => void;
  readonly #bySecond = new Map<number, Map<string, number>>();
  readonly #timers = new Set<Timer>();

  /** `now`: epoch milliseconds, on the clock by which tokens end. */
  constructor(clock: Clock, now: () => number, onEnd: (hash: string) => void) {
    this.#clock = clock;
    this.#now = now;
    this.#onEnd = onEnd;
  }

  /** Epoch milliseconds. A hash may have several: each is checked. */
  add(hash: string, end: number): void {
    const second = Math.floor(end / 1_000);
    const ending = this.#bySecond.get(second) ?? new Map<string, number>();
    this.#bySecond.set(second, ending.set(hash, end));
  }

  /** To be called more often than once a second. */
  check(): void {
    const now = this.#now();
    for (const [second, ending] of this.#bySecond) {
      if (second * 1_000 > now + 1_000) continue;
      this.#bySecond.delete(second);
      for (const [hash, end] of ending) this.#wait(hash, end);
    }
  }

  stop(): void {
    for (const timer of this.#timers) timer.cancel();
  }

  #wait(hash: string, end: number): void {
    const timer = this.#clock.setTimer(
      () => {
        this.#timers.delete(timer);
        // A timer may come a little too early, and then the token would still be good.
        if (this.#now() < end) this.#wait(hash, end);
        else this.#onEnd(hash);
      },
      Math.max(1, end - this.#now()),
    );
    this.#timers.add(timer);
  }
}
