export interface ConcurrencyLimits {
  readonly all: number;
  /** Of one key: an address, a user, a cluster. */
  readonly ofEach: number;
}

interface Place {
  readonly makeRoom: (() => void) | undefined;
}

/**
 * How many may be under way at once: in all, and of each key. One more is refused, and does not wait. Several keys can take all places: then
 * who has the most makes room for who has less.
 */
export class ConcurrencyLimit {
  readonly #limits: ConcurrencyLimits;
  /** The oldest first. */
  readonly #ofEach = new Map<string, Set<Place>>();
  #all = 0;

  constructor(limits: ConcurrencyLimits) {
    this.#limits = limits;
  }

  /**
   * Returns a function to call once at the end; undefined where there are as many as there may be. `makeRoom` is called when the place was
   * given to another. Absent: it is kept.
   */
  enter(key: string, makeRoom?: () => void): (() => void) | undefined {
    const own = this.#ofEach.get(key)?.size ?? 0;
    if (own >= this.#limits.ofEach) return undefined;
    if (this.#all >= this.#limits.all && !this.#freeOne(own)) return undefined;
    const place = { makeRoom };
    this.#all += 1;
    this.#ofEach.set(key, (this.#ofEach.get(key) ?? new Set()).add(place));
    return () => this.#leave(key, place);
  }

  /** For a key that has so many. */
  #freeOne(own: number): boolean {
    const [key, places] = [...this.#ofEach].reduce((most, each) =>
      each[1].size > most[1].size ? each : most,
    );
    const [oldest] = places;
    if (oldest?.makeRoom === undefined || places.size <= own + 1) return false;
    this.#leave(key, oldest);
    oldest.makeRoom();
    return true;
  }

  #leave(key: string, place: Place): void {
    const places = this.#ofEach.get(key);
    if (!places?.delete(place)) return;
    this.#all -= 1;
    if (places.size === 0) this.#ofEach.delete(key);
  }
}
