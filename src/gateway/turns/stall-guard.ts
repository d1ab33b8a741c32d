import type { Clock, Timer } from '../../kube/clock.ts';

/** Calls back once when nothing has moved for a while. One timer, however often something moves. */
export class StallGuard {
  readonly #clock: Clock;
  readonly #limitMs: number;
  readonly #onStall: () => void;
  #moved: number;
  #timer: Timer | undefined;

  constructor(clock: Clock, limitMs: number, onStall: () => void) {
    this.#clock = clock;
    this.#limitMs = limitMs;
    this.#onStall = onStall;
    this.#moved = clock.monotonic();
    this.#timer = clock.setTimer(() => this.#check(), limitMs);
  }

  progress(): void {
    this.#moved = this.#clock.monotonic();
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #check(): void {
    const left = this.#moved + this.#limitMs - this.#clock.monotonic();
    if (left <= 0) this.#onStall();
    else this.#timer = this.#clock.setTimer(() => this.#check(), left);
  }
}
