import type { Clock, Timer } from '../clock.ts';

export interface ByteBudgetOptions {
  readonly clock: Clock;
  readonly bytesPerSecond: number;
  /** Bytes that may come at once after a pause. */
  readonly maxBurst: number;
}

interface Payment {
  readonly bytes: number;
  readonly onPaid: () => void;
}

/** Bytes a second that many may read together. Those who want more wait; their lanes take turns. */
export class ByteBudget {
  readonly #options: ByteBudgetOptions;
  #left: number;
  #filledAt: number;
  /** Lanes with payments that wait, the next one first. */
  readonly #turns = new Set<ByteLane>();
  #timer: Timer | undefined;

  constructor(options: ByteBudgetOptions) {
    this.#options = options;
    this.#left = options.maxBurst;
    this.#filledAt = options.clock.monotonic();
  }

  /** For one of those who share the budget. */
  lane(): ByteLane {
    return new ByteLane((lane) => this.#enter(lane));
  }

  #enter(lane: ByteLane): void {
    this.#turns.add(lane);
    if (this.#timer === undefined) this.#serve();
  }

  #serve(): void {
    this.#fill();
    for (const lane of this.#turns) {
      const next = lane.first;
      // More than a burst never is there at once.
      const bytes = Math.min(next?.bytes ?? 0, this.#options.maxBurst);
      if (bytes > this.#left) return this.#wait(bytes - this.#left);
      this.#turns.delete(lane);
      if (next === undefined) continue;
      this.#left -= bytes;
      lane.shift();
      if (lane.first !== undefined) this.#turns.add(lane);
      next.onPaid();
    }
  }

  #fill(): void {
    const { clock, bytesPerSecond, maxBurst } = this.#options;
    const now = clock.monotonic();
    this.#left = Math.min(maxBurst, this.#left + ((now - this.#filledAt) * bytesPerSecond) / 1_000);
    this.#filledAt = now;
  }

  #wait(missing: number): void {
    const { clock, bytesPerSecond } = this.#options;
    this.#timer ??= clock.setTimer(
      () => {
        this.#timer = undefined;
        this.#serve();
      },
      Math.ceil((missing * 1_000) / bytesPerSecond),
    );
  }
}

/** The debts of one who shares a budget, in the order of asking. */
export class ByteLane {
  readonly #onWaiting: (lane: ByteLane) => void;
  readonly #payments = new Set<Payment>();

  constructor(onWaiting: (lane: ByteLane) => void) {
    this.#onWaiting = onWaiting;
  }

  /** `onPaid` is called at once or later. Returns what takes the wish back. */
  pay(bytes: number, onPaid: () => void): () => void {
    const payment = { bytes, onPaid };
    this.#payments.add(payment);
    this.#onWaiting(this);
    return () => void this.#payments.delete(payment);
  }

  get first(): Payment | undefined {
    for (const payment of this.#payments) return payment;
    return undefined;
  }

  shift(): void {
    for (const payment of this.#payments) return void this.#payments.delete(payment);
  }
}
