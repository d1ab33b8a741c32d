export interface ConcurrencyLimits {
  readonly all: number;
  /** Of one key: an address, a user, a cluster. */
  readonly ofEach: number;
}
/** How many may be under way at once: in all, and of each key. One more is refused, and does not wait. */
export class ConcurrencyLimit {
  readonly #limits: ConcurrencyLimits;
  readonly #ofEach = new Map<string, number>();
  #all = 0;

  constructor(limits: ConcurrencyLimits) {
    this.#limits = limits;
  }

  /** Returns a function to call once at the end; undefined where there are as many as there may be. */
  enter(key: string): (() => void) | undefined {
    const own = this.#ofEach.get(key) ?? 0;
    if (this.#all >= this.#limits.all || own >= this.#limits.ofEach) return undefined;
    this.#all += 1;
    this.#ofEach.set(key, own + 1);
    return () => this.#leave(key);
  }

  #leave(key: string): void {
    const left = (this.#ofEach.get(key) ?? 1) - 1;
    this.#all -= 1;
    if (left === 0) this.#ofEach.delete(key);
    else this.#ofEach.set(key, left);
  }
}
