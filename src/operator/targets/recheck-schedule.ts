import { BackOff } from '../../kube/back-off.ts';
import type { WorkResult } from '../../kube/queue/workers.ts';

export interface RecheckScheduleOptions {
  /** How often a working target is checked, and a failing one at least. */
  readonly recheckMs: number;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

/** The first delay after a failure. */
const minDelayMs = 1_000;

/** When each target is checked next: after failures with growing delay, else at the regular time, both with jitter. */
export class RecheckSchedule {
  readonly #options: RecheckScheduleOptions;
  readonly #failing = new Map<string, BackOff>();

  constructor(options: RecheckScheduleOptions) {
    this.#options = options;
  }

  /** After a check that found everything right. */
  afterSuccess(uid: string): WorkResult {
    const { recheckMs, random } = this.#options;
    this.#failing.delete(uid);
    // Targets that came together at the start of a term must not be checked together for ever.
    return { requeueAfterMs: recheckMs * (0.8 + 0.2 * random()) };
  }

  /** After a check that did not. */
  afterFailure(uid: string): WorkResult {
    const { recheckMs, random } = this.#options;
    const backOff =
      this.#failing.get(uid) ??
      new BackOff({ initialMs: Math.min(minDelayMs, recheckMs), maxMs: recheckMs, random });
    this.#failing.set(uid, backOff);
    return { requeueAfterMs: backOff.next() };
  }

  forget(uid: string): void {
    this.#failing.delete(uid);
  }
}
