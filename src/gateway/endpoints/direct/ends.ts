import type { Clock, Timer } from '../../../kube/clock.ts';

/** Calls back with what ends, when it ends. There may be 100,000 of them, so timers are made for those of the next second alone. */
export class Ends {
  readonly #clock: Clock;
  readonly #onEnd: (hash: string) => void;
  readonly #bySecond = new Map<number, Map<string, number>>();
  readonly #timers = new Set<Timer>();

  constructor(clock: Clock, onEnd: (hash: string) => void) {
    this.#clock = clock;
    this.#onEnd = onEnd;
  }

  /** Epoch milliseconds. A hash may have several: each is looked at. */
  add(hash: string, end: number): void {
    const second = Math.floor(end / 1_000);
    const ending = this.#bySecond.get(second) ?? new Map<string, number>();
    this.#bySecond.set(second, ending.set(hash, end));
  }

  /** To be called more often than once a second. */
  look(): void {
    const now = this.#clock.now();
    for (const [second, ending] of this.#bySecond) {
      if (second * 1_000 > now + 1_000) continue;
      this.#bySecond.delete(second);
      for (const [hash, end] of ending) this.#wait(hash, end - now);
    }
  }

  stop(): void {
    for (const timer of this.#timers) timer.cancel();
  }

  #wait(hash: string, delayMs: number): void {
    const timer = this.#clock.setTimer(() => {
      this.#timers.delete(timer);
      this.#onEnd(hash);
    }, delayMs);
    this.#timers.add(timer);
  }
}
