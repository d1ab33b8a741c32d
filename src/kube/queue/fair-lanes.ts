/** Whose key it is. Two names: the second one has a turn among those that share the first. */
export type LaneName = string | readonly [name: string, within: string];

interface Lane {
  readonly name: string;
  readonly waiting: KeyQueue | FairLanes;
  /** Keys that were taken and are not done. */
  busy: number;
}

/** Keys in order of arrival. */
class KeyQueue {
  #keys: string[] = [];
  #head = 0;

  get length(): number {
    return this.#keys.length - this.#head;
  }

  push(key: string): void {
    this.#keys.push(key);
  }

  take(): string | undefined {
    if (this.length === 0) return undefined;
    const key = this.#keys[this.#head++];
    [this.#keys, this.#head] = compacted(this.#keys, this.#head);
    return key;
  }

  done(): void {}

  clear(): void {
    [this.#keys, this.#head] = [[], 0];
  }
}

/**
 * Keys in lanes, which take turns: a lane with thousands of keys delays a key of another by one key at most. Within a lane
 * the first to arrive goes first, unless it has lanes of its own. With one lane it is a plain queue. No operation costs more
 * for more keys.
 */
export class FairLanes {
  readonly #maxBusy: number;
  readonly #maxBusyAlone: number;
  /** Those with keys that wait or are taken. */
  readonly #lanes = new Map<string, Lane>();
  /** The lanes with keys that wait, the next one first; those before `#head` had their turn. */
  #turns: Lane[] = [];
  #head = 0;
  #length = 0;
  readonly #taken = new Map<string, Lane>();

  /**
   * `maxBusy`: how many keys of one lane may be taken at a time while another lane has any, waiting or taken. `maxBusyAlone`:
   * the same while no other has.
   */
  constructor(maxBusy = Number.POSITIVE_INFINITY, maxBusyAlone = Number.POSITIVE_INFINITY) {
    this.#maxBusy = maxBusy;
    this.#maxBusyAlone = maxBusyAlone;
  }

  /** Keys that wait. */
  get length(): number {
    return this.#length;
  }

  /** The key must not wait in any lane. A lane keeps the form that its first key gave it. */
  push(key: string, laneName: LaneName): void {
    const [name, within] = typeof laneName === 'string' ? [laneName] : laneName;
    const lane = this.#lanes.get(name) ?? this.#open(name, within !== undefined);
    if (lane.waiting.length === 0) this.#turns.push(lane);
    lane.waiting.push(key, within ?? '');
    this.#length++;
  }

  /** The first key of the lane whose turn it is; undefined when none waits, or none may be taken now. */
  take(): string | undefined {
    const maxBusy = this.#lanes.size > 1 ? this.#maxBusy : this.#maxBusyAlone;
    // A lane that has as many as it may is passed over; there are never more of them than workers.
    for (let left = this.#turns.length - this.#head; left > 0; left--) {
      const lane = this.#turns[this.#head++] as Lane;
      [this.#turns, this.#head] = compacted(this.#turns, this.#head);
      const key = lane.busy < maxBusy ? lane.waiting.take() : undefined;
      if (key === undefined || lane.waiting.length > 0) this.#turns.push(lane);
      if (key !== undefined) return this.#took(key, lane);
    }
    return undefined;
  }

  /** The key is not worked on any more. */
  done(key: string): void {
    const lane = this.#taken.get(key);
    if (lane === undefined) return;
    this.#taken.delete(key);
    lane.waiting.done(key);
    lane.busy--;
    if (lane.busy === 0 && lane.waiting.length === 0) this.#lanes.delete(lane.name);
  }

  /** Drops what waits. */
  clear(): void {
    for (const lane of this.#lanes.values()) lane.waiting.clear();
    for (const lane of this.#lanes.values()) if (lane.busy === 0) this.#lanes.delete(lane.name);
    [this.#turns, this.#head, this.#length] = [[], 0, 0];
  }

  #open(name: string, hasLanes: boolean): Lane {
    const waiting = hasLanes ? new FairLanes(this.#maxBusy, this.#maxBusyAlone) : new KeyQueue();
    const lane: Lane = { name, waiting, busy: 0 };
    this.#lanes.set(name, lane);
    return lane;
  }

  #took(key: string, lane: Lane): string {
    this.#length--;
    lane.busy++;
    this.#taken.set(key, lane);
    return key;
  }
}

/** Shifting is linear and slicing on each take too; half empty is a good time for it. */
function compacted<T>(items: T[], head: number): [items: T[], head: number] {
  return head > 1024 && head * 2 > items.length ? [items.slice(head), 0] : [items, head];
}
