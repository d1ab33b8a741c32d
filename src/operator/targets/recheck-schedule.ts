import { BackOff } from '../../kube/back-off.ts';
import type { WorkResult } from '../../kube/queue/workers.ts';

export interface RecheckScheduleOptions {
  /** How often a target that is as it should be is looked at, and a failing one at least; milliseconds. */
  readonly recheckMs: number;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

/** The first delay after a failure, milliseconds. */
const soonest = 1_000;

/** When each target is looked at next: failures with growing delay, everything else at the regular time, both with jitter. */
export class RecheckSchedule {
  readonly #options: RecheckScheduleOptions;
  readonly #failing = new Map<string, BackOff>();

  constructor(options: RecheckScheduleOptions) {
    this.#options = options;
  }

  /** After a look that found everything right. */
  regular(uid: string): WorkResult {
    const { recheckMs, random } = this.#options;
    this.#failing.delete(uid);
    // Targets that came together at the start of a term must not be looked at together for ever.
    return { requeueAfterMs: recheckMs * (0.8 + 0.2 * random()) };
  }

  /** After a look that did not. */
  failed(uid: string): WorkResult {
    const { recheckMs, random } = this.#options;
    const backOff =
      this.#failing.get(uid) ??
      new BackOff({ initialMs: Math.min(soonest, recheckMs), maxMs: recheckMs, random });
    this.#failing.set(uid, backOff);
    return { requeueAfterMs: backOff.next() };
  }

  forget(uid: string): void {
    this.#failing.delete(uid);
  }
}
