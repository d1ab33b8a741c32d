import type { Clock } from '../../kube/clock.ts';
import type { Standing } from './dns-cache.ts';

export interface LookupLimits {
  /** At least 2: one look-up is kept for proven names. */
  readonly maxConcurrent: number;
  /** Of each standing; one more is refused at once. */
  readonly maxWaiting: number;
  /** A look-up that waited longer is refused instead of begun: its caller has given up. */
  readonly maxWaitMs: number;
  readonly clock: Clock;
}

interface Waiting {
  readonly since: number;
  readonly begin: () => void;
  readonly refuse: (reason: Error) => void;
}

const order = ['proven', 'unknown', 'suspect'] as const;

/** Bounds the look-ups under way, and begins those that wait in the order of standing. One is kept for proven names. */
export class LookupSemaphore {
  readonly #limits: LookupLimits;
  readonly #queues: Readonly<Record<Standing, Waiting[]>> = { proven: [], unknown: [], suspect: [] };
  readonly #active = { all: 0, unproven: 0 };

  constructor(limits: LookupLimits) {
    this.#limits = limits;
  }

  acquire(standing: Standing): Promise<void> {
    const { maxWaiting, clock } = this.#limits;
    if (this.#isFree(standing)) {
      this.#count(standing, 1);
      return Promise.resolve();
    }
    const queue = this.#queues[standing];
    if (queue.length >= maxWaiting) return Promise.reject(notNow());
    return new Promise((begin, refuse) => queue.push({ since: clock.monotonic(), begin, refuse }));
  }

  release(standing: Standing): void {
    this.#count(standing, -1);
    for (const next of order) while (this.#isFree(next) && this.#beginOne(next));
  }

  /** False when none waits. */
  #beginOne(standing: Standing): boolean {
    const { maxWaitMs, clock } = this.#limits;
    const next = this.#queues[standing].shift();
    if (next === undefined) return false;
    if (clock.monotonic() - next.since > maxWaitMs) next.refuse(notNow());
    else {
      this.#count(standing, 1);
      next.begin();
    }
    return true;
  }

  #isFree(standing: Standing): boolean {
    const { all, unproven } = this.#active;
    const { maxConcurrent } = this.#limits;
    return all < maxConcurrent && (standing === 'proven' || unproven < maxConcurrent - 1);
  }

  #count(standing: Standing, by: 1 | -1): void {
    this.#active.all += by;
    if (standing !== 'proven') this.#active.unproven += by;
  }
}

/** The error of the system's resolver when it may work later. */
export const notNow = (): Error =>
  Object.assign(new Error('the name is not looked up now'), { code: 'EAI_AGAIN' });
