/** Whose key it is. Two names: the second one has a turn among those that share the first. */
export type LaneName = string | readonly [name: string, within: string];

interface Lane {
  readonly name: string;
  readonly waiting: KeyQueue | FairLanes;
  /** Keys that were taken and are not done. */
  busy: number;
}

/** How many keys that changed go before one that is only listed. */
const maxChangesInRow = 4;

/** Keys of one lane: four that changed, then one that is only listed, each kind in order of arrival. */
class KeyQueue {
  readonly #changed = new Line();
  readonly #listed = new Line();
  #changesInRow = 0;

  get length(): number {
    return this.#changed.length + this.#listed.length;
  }

  push(key: string, _within: string, isListed: boolean): void {
    (isListed ? this.#listed : this.#changed).push(key);
  }

  advance(key: string): void {
    if (this.#listed.delete(key)) this.#changed.push(key);
  }

  take(): string | undefined {
    const isListedTurn = this.#changesInRow >= maxChangesInRow && this.#listed.length > 0;
    const changed = isListedTurn ? undefined : this.#changed.take();
    this.#changesInRow = changed === undefined ? 0 : this.#changesInRow + 1;
    return changed ?? this.#listed.take();
  }

  done(): void {}

  clear(): void {
    this.#changed.clear();
    this.#listed.clear();
  }
}

/** First in, first out, and a key can leave from the middle. */
class Line {
  readonly #keys = new Set<string>();
  /** Goes on where it was: a new one would pass over all that were taken before. */
  #rest = this.#keys.values();

  get length(): number {
    return this.#keys.size;
  }

  push(key: string): void {
    this.#keys.add(key);
  }

  delete(key: string): boolean {
    return this.#keys.delete(key);
  }

  take(): string | undefined {
    if (this.#keys.size === 0) return undefined;
    const next = this.#rest.next();
    if (!next.done) {
      this.#keys.delete(next.value);
      return next.value;
    }
    // One that has come to its end stays there.
    this.#rest = this.#keys.values();
    return this.take();
  }

  clear(): void {
    this.#keys.clear();
  }
}

/**
 * Keys in lanes, which take turns: a lane with thousands of keys delays a key of another by one key at most. Within a lane
 * what changed goes before what is only listed, four to one, and the first to arrive goes first. A lane may have lanes of its
 * own. With one lane it is a plain queue. No operation costs more for more keys.
 */
export class FairLanes {
  readonly #maxBusy: number;
  readonly #maxBusyAlone: number;
  /** Owners with keys that wait or are taken. */
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

  /** The key must not wait in any lane. A lane keeps the form that its first key gave it. `isListed`: it goes behind changes. */
  push(key: string, laneName: LaneName, isListed = false): void {
    const [name, within] = namesOf(laneName);
    const lane = this.#lanes.get(name) ?? this.#open(name, within !== undefined);
    if (lane.waiting.length === 0) this.#turns.push(lane);
    lane.waiting.push(key, within ?? '', isListed);
    this.#length++;
  }

  /** A key that waits as listed in this lane has changed. No effect on others. */
  advance(key: string, laneName: LaneName): void {
    const [name, within] = namesOf(laneName);
    this.#lanes.get(name)?.waiting.advance(key, within ?? '');
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

export const namesOf = (lane: LaneName): readonly [string, string?] =>
  typeof lane === 'string' ? [lane] : lane;

/** Shifting is linear and slicing on each take too; half empty is a good time for it. */
function compacted<T>(items: T[], head: number): [items: T[], head: number] {
  return head > 1024 && head * 2 > items.length ? [items.slice(head), 0] : [items, head];
}
