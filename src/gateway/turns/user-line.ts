/**
 * Work that waits for its turn. Users take turns: next comes the one whose last turn is the longest ago, and each one's things keep their
 * order.
 */
export class UserLine<Item> {
  /** Of users, in the order in which they come next. */
  readonly #waiting = new Map<string, Item[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(user: string, item: Item): void {
    const items = this.#waiting.get(user);
    if (items === undefined) this.#waiting.set(user, [item]);
    else items.push(item);
    this.#size += 1;
  }

  /** Takes the next one out, of the users that may go on; undefined where there is none. */
  next(mayGo: (user: string) => boolean = () => true): { user: string; item: Item } | undefined {
    for (const [user, items] of this.#waiting) {
      if (!mayGo(user)) continue;
      const [item] = items.splice(0, 1) as [Item];
      this.#size -= 1;
      this.#waiting.delete(user);
      if (items.length > 0) this.#waiting.set(user, items);
      return { user, item };
    }
    return undefined;
  }

  /** Whether something waits of a user that may go on. */
  some(mayGo: (user: string) => boolean): boolean {
    return [...this.#waiting.keys()].some(mayGo);
  }
}
