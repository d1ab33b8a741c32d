interface Entry {
  readonly key: string;
  due: number;
  readonly order: number;
  position: number;
}

/**
 * Keys by the time they fall due, each at most once: of two times for one key the earliest wins. Of keys that fall due together
 * the one with the lower order is first.
 */
export class DelayHeap {
  readonly #entries: Entry[] = [];
  readonly #byKey = new Map<string, Entry>();

  get size(): number {
    return this.#entries.length;
  }

  /** When the first key falls due. */
  get nextDue(): number | undefined {
    return this.#entries[0]?.due;
  }

  /** The key that falls due first. */
  get first(): string | undefined {
    return this.#entries[0]?.key;
  }

  put(key: string, due: number, order = 0): void {
    const known = this.#byKey.get(key);
    if (known === undefined) {
      const entry = { key, due, order, position: this.#entries.length };
      this.#byKey.set(key, entry);
      this.#entries.push(entry);
      this.#up(entry);
    } else if (due < known.due) {
      known.due = due;
      this.#up(known);
    }
  }

  /** Takes out the first key when it is due. */
  takeDue(now: number): string | undefined {
    const first = this.#entries[0];
    if (first === undefined || first.due > now) return undefined;
    this.delete(first.key);
    return first.key;
  }

  delete(key: string): void {
    const entry = this.#byKey.get(key);
    if (entry === undefined) return;
    this.#byKey.delete(key);
    const last = this.#entries.pop();
    if (last === undefined || last === entry) return;
    this.#place(last, entry.position);
    this.#up(last);
    this.#down(last);
  }

  clear(): void {
    this.#entries.length = 0;
    this.#byKey.clear();
  }

  #up(entry: Entry): void {
    while (entry.position > 0) {
      const at = entry.position;
      const parent = this.#entries[(at - 1) >> 1];
      if (parent === undefined || !isBefore(entry, parent)) return;
      this.#place(entry, parent.position);
      this.#place(parent, at);
    }
  }

  #down(entry: Entry): void {
    for (;;) {
      const at = entry.position;
      const child = this.#earlier(this.#entries[2 * at + 1], this.#entries[2 * at + 2]);
      if (child === undefined || !isBefore(child, entry)) return;
      this.#place(entry, child.position);
      this.#place(child, at);
    }
  }

  #earlier(left: Entry | undefined, right: Entry | undefined): Entry | undefined {
    return right !== undefined && left !== undefined && isBefore(right, left) ? right : left;
  }

  #place(entry: Entry, position: number): void {
    this.#entries[position] = entry;
    entry.position = position;
  }
}

const isBefore = (entry: Entry, other: Entry): boolean =>
  entry.due === other.due ? entry.order < other.order : entry.due < other.due;
