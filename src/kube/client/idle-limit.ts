import type { Clock, Timer } from '../clock.ts';

/**
 * A signal that aborts when nothing has come for a while. One timer that checks again what is left: setting a new
 * one for each chunk would cost more than reading it.
 */
export class IdleLimit {
  readonly #clock: Clock;
  #idleMs: number;
  readonly #controller = new AbortController();
  #timer: Timer;
  #last: number;
  #expired = false;
  #cutTimer: Timer | undefined;
  #isCut = false;

  constructor(clock: Clock, idleMs: number) {
    this.#clock = clock;
    this.#idleMs = idleMs;
    this.#last = clock.monotonic();
    this.#timer = clock.setTimer(() => this.#check(), idleMs);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** True when silence, and not the caller, ended it. */
  get expired(): boolean {
    return this.#expired;
  }

  /** The present limit, milliseconds. */
  get limitMs(): number {
    return this.#idleMs;
  }

  /** True when `cutIfSilentFor` ended it. */
  get isCut(): boolean {
    return this.#isCut;
  }

  /** Ends the wait once nothing has come for this long, unless something comes before. */
  cutIfSilentFor(ms: number): void {
    if (this.#controller.signal.aborted) return;
    this.#cutTimer?.cancel();
    const last = this.#last;
    const left = last + ms - this.#clock.monotonic();
    if (left <= 0) return this.#cut();
    this.#cutTimer = this.#clock.setTimer(() => {
      if (this.#last === last) this.#cut();
    }, left);
  }

  /** Something came. */
  touch(): void {
    this.#last = this.#clock.monotonic();
  }

  /** Something came, and from now on this is the limit. */
  restart(idleMs: number): void {
    this.touch();
    if (idleMs === this.#idleMs || this.#controller.signal.aborted) return;
    this.#idleMs = idleMs;
    this.#timer.cancel();
    this.#timer = this.#clock.setTimer(() => this.#check(), idleMs);
  }

  /** Ends the wait. Call it in the end in any case: it stops the timer. */
  abort(reason?: unknown): void {
    this.#timer.cancel();
    this.#cutTimer?.cancel();
    this.#controller.abort(reason);
  }

  #cut(): void {
    this.#isCut = true;
    this.abort();
  }

  #check(): void {
    const left = this.#last + this.#idleMs - this.#clock.monotonic();
    if (left > 0) {
      this.#timer = this.#clock.setTimer(() => this.#check(), left);
    } else {
      this.#expired = true;
      this.#controller.abort();
    }
  }
}
