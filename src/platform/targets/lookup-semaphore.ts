import type { Clock } from '../../kube/clock.ts';
import type { Standing } from './dns-cache.ts';

export interface TurnLimits {
  /** At least 2: one turn is kept for proven names. */
  readonly atOnce: number;
  /** Of each standing; one more is refused at once. */
  readonly waiting: number;
  /** Who waited longer is refused when its turn comes: whoever asked has given up. */
  readonly waitMs: number;
  readonly clock: Clock;
}

interface Waiting {
  readonly since: number;
  readonly begin: () => void;
  readonly refuse: (reason: Error) => void;
}

const order = ['proven', 'unknown', 'suspect'] as const;

/** Turns to look a name up, in the order of standing. All but proven names share what one turn fewer leaves. */
export class LookupSemaphore {
  readonly #limits: TurnLimits;
  readonly #queues: Readonly<Record<Standing, Waiting[]>> = { proven: [], unknown: [], suspect: [] };
  readonly #active = { all: 0, unproven: 0 };

  constructor(limits: TurnLimits) {
    this.#limits = limits;
  }

  take(standing: Standing): Promise<void> {
    const { waiting, clock } = this.#limits;
    if (this.#isFree(standing)) {
      this.#count(standing, 1);
      return Promise.resolve();
    }
    const queue = this.#queues[standing];
    if (queue.length >= waiting) return Promise.reject(notNow());
    return new Promise((begin, refuse) => queue.push({ since: clock.monotonic(), begin, refuse }));
  }

  giveBack(standing: Standing): void {
    this.#count(standing, -1);
    for (const next of order) while (this.#isFree(next) && this.#beginOne(next));
  }

  /** False when nobody waits. */
  #beginOne(standing: Standing): boolean {
    const { waitMs, clock } = this.#limits;
    const next = this.#queues[standing].shift();
    if (next === undefined) return false;
    if (clock.monotonic() - next.since > waitMs) next.refuse(notNow());
    else {
      this.#count(standing, 1);
      next.begin();
    }
    return true;
  }

  #isFree(standing: Standing): boolean {
    const { all, unproven } = this.#active;
    const { atOnce } = this.#limits;
    return all < atOnce && (standing === 'proven' || unproven < atOnce - 1);
  }

  #count(standing: Standing, by: 1 | -1): void {
    this.#active.all += by;
    if (standing !== 'proven') this.#active.unproven += by;
  }
}

/** What the system's resolver fails with when it may work later. */
export const notNow = (): Error =>
  Object.assign(new Error('the name is not looked up now'), { code: 'EAI_AGAIN' });
