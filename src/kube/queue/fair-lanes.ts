interface Lane {
  readonly name: string;
  /** In order of arrival; those before `head` are taken. */
  keys: string[];
  head: number;
  /** Keys that were taken and are not done. */
  busy: number;
}

/**
 * Keys in lanes, which take turns: a lane with thousands of keys delays a key of another by one key at most. Within a lane
 * the first to arrive goes first. With one lane it is a plain queue. No operation costs more for more keys.
 */
export class FairLanes {
  readonly #maxBusy: number;
  /** Those with keys that wait or are taken. */
  readonly #lanes = new Map<string, Lane>();
  /** The lanes with keys that wait, the next one first; those before `#head` had their turn. */
  #turns: Lane[] = [];
  #head = 0;
  #length = 0;
  readonly #taken = new Map<string, Lane>();

  /** `maxBusy`: how many keys of one lane may be taken at a time while another lane has any, waiting or taken. */
  constructor(maxBusy = Number.POSITIVE_INFINITY) {
    this.#maxBusy = maxBusy;
  }

  /** Keys that wait. */
  get length(): number {
    return this.#length;
  }

  /** The key must not wait in any lane. */
  push(key: string, name: string): void {
    const lane = this.#lanes.get(name) ?? { name, keys: [], head: 0, busy: 0 };
    this.#lanes.set(name, lane);
    if (lane.head === lane.keys.length) this.#turns.push(lane);
    lane.keys.push(key);
    this.#length++;
  }

  /** The first key of the lane whose turn it is; undefined when none waits, or none may be taken now. */
  take(): string | undefined {
    const lane = this.#nextLane();
    if (lane === undefined) return undefined;
    const key = lane.keys[lane.head++] as string;
    this.#length--;
    lane.busy++;
    this.#taken.set(key, lane);
    if (lane.head < lane.keys.length) this.#turns.push(lane);
    [lane.keys, lane.head] = compacted(lane.keys, lane.head);
    return key;
  }

  /** The key is not worked on any more. */
  done(key: string): void {
    const lane = this.#taken.get(key);
    if (lane === undefined) return;
    this.#taken.delete(key);
    lane.busy--;
    if (lane.busy === 0 && lane.head === lane.keys.length) this.#lanes.delete(lane.name);
  }

  /** Drops what waits. */
  clear(): void {
    for (const lane of this.#lanes.values()) [lane.keys, lane.head] = [[], 0];
    for (const lane of this.#lanes.values()) if (lane.busy === 0) this.#lanes.delete(lane.name);
    [this.#turns, this.#head, this.#length] = [[], 0, 0];
  }

  /** A lane that has as many as it may is passed over; there are never more of them than workers. */
  #nextLane(): Lane | undefined {
    const maxBusy = this.#lanes.size > 1 ? this.#maxBusy : Number.POSITIVE_INFINITY;
    for (let left = this.#turns.length - this.#head; left > 0; left--) {
      const lane = this.#turns[this.#head++] as Lane;
      [this.#turns, this.#head] = compacted(this.#turns, this.#head);
      if (lane.busy < maxBusy) return lane;
      this.#turns.push(lane);
    }
    return undefined;
  }
}

/** Shifting is linear and slicing on each take too; half empty is a good time for it. */
function compacted<T>(items: T[], head: number): [items: T[], head: number] {
  return head > 1024 && head * 2 > items.length ? [items.slice(head), 0] : [items, head];
}
