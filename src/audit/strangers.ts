import type { Clock, Timer } from '../kube/clock.ts';
import { WriteBudget } from '../kube/queue/write-budget.ts';

/** Lines a second about requests without a live credential, in the long run and at once. */
const budget = { rate: 10, burst: 100 };
/** How often the others are summed up, milliseconds. */
const sumMs = 10_000;
/** Sums at once. What does not fit is part of one without a credential. */
const maxSums = 64;
const maxSources = 16;

/** Refusals of one kind, beyond those that have a line of their own. */
export interface RefusalSum {
  readonly error: string;
  readonly status: number;
  /** Of what was sent; undefined where it was no credential, or there are too many to tell apart. */
  readonly keyID: string | undefined;
  count: number;
  /** The first of them. */
  readonly sources: Set<string>;
  readonly since: number;
}

export interface StrangersOptions {
  readonly clock: Clock;
  readonly onSum: (sum: RefusalSum) => void;
}

export interface StrangerRefusal extends Pick<RefusalSum, 'error' | 'status' | 'keyID'> {
  readonly source: string;
}

/** Who has no credential must not fill the audit log, and pays nothing for a request: beyond a rate, refusals are summed up. */
export class Strangers {
  readonly #options: StrangersOptions;
  readonly #lines = new WriteBudget(budget);
  readonly #sums = new Map<string, RefusalSum>();
  #timer: Timer | undefined;

  constructor(options: StrangersOptions) {
    this.#options = options;
  }

  /** True: it may have a line of its own. Otherwise it is part of a sum. */
  admit(refusal: StrangerRefusal): boolean {
    if (this.#lines.tryReserve(this.#options.clock.monotonic())) return true;
    const sum = this.#sumOf(refusal);
    sum.count += 1;
    if (sum.sources.size < maxSources) sum.sources.add(refusal.source);
    return false;
  }

  /** Tells of all sums now. */
  flush(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    for (const sum of this.#sums.values()) this.#options.onSum(sum);
    this.#sums.clear();
  }

  #sumOf({ error, status, keyID }: StrangerRefusal): RefusalSum {
    const known = this.#sums.get(`${error} ${keyID}`);
    if (known !== undefined) return known;
    const isFull = this.#sums.size >= maxSums;
    const name = `${error} ${isFull ? undefined : keyID}`;
    const since = this.#options.clock.now();
    const sum = this.#sums.get(name) ?? {
      ...{ error, status, keyID: isFull ? undefined : keyID },
      ...{ count: 0, sources: new Set<string>(), since },
    };
    this.#sums.set(name, sum);
    this.#timer ??= this.#options.clock.setTimer(() => this.flush(), sumMs);
    return sum;
  }
}
