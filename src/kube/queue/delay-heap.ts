interface Entry {
  readonly key: string;
  due: number;
  position: number;
}

/** Keys by the time they fall due, each at most once: of two times for one key the earliest wins. */
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

  put(key: string, due: number): void {
    const known = this.#byKey.get(key);
    if (known === undefined) {
      const entry = { key, due, position: this.#entries.length };
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
    const last = this.#entries.pop();
    this.#byKey.delete(first.key);
    if (last !== undefined && last !== first) {
      this.#place(last, 0);
      this.#down(last);
    }
    return first.key;
  }

  clear(): void {
    this.#entries.length = 0;
    this.#byKey.clear();
  }

  #up(entry: Entry): void {
    while (entry.position > 0) {
      const at = entry.position;
      const parent = this.#entries[(at - 1) >> 1];
      if (parent === undefined || parent.due <= entry.due) return;
      this.#place(entry, parent.position);
      this.#place(parent, at);
    }
  }

  #down(entry: Entry): void {
    for (;;) {
      const at = entry.position;
      const child = this.#earlier(this.#entries[2 * at + 1], this.#entries[2 * at + 2]);
      if (child === undefined || child.due >= entry.due) return;
      this.#place(entry, child.position);
      this.#place(child, at);
    }
  }

  #earlier(left: Entry | undefined, right: Entry | undefined): Entry | undefined {
    return right !== undefined && left !== undefined && right.due < left.due ? right : left;
  }

  #place(entry: Entry, position: number): void {
    this.#entries[position] = entry;
    entry.position = position;
  }
}
