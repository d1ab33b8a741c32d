interface HeldBytesLimits {
  readonly ofUser: number;
  readonly ofAll: number;
}

/** Read, parsed and written again, a text stands in memory about so often. */
const copies = 4;

/**
 * Memory that requests about credentials of one's own have at once, in all and of one user. Objects may be large, a client may read
 * slowly or send a hundred requests, and all users share the memory of the process.
 */
export class HeldBytes {
  readonly #limits: HeldBytesLimits;
  #held = 0;
  readonly #ofUser = new Map<string, number>();

  constructor(limits: HeldBytesLimits) {
    this.#limits = limits;
  }

  /** For one request of the user; release it when the request is over. */
  hold(user: string): Holding {
    return new Holding((bytes) => this.#change(user, bytes));
  }

  /** False: there is no room, and nothing was taken. */
  #change(user: string, bytes: number): boolean {
    const own = (this.#ofUser.get(user) ?? 0) + bytes;
    const all = this.#held + bytes;
    if (bytes > 0 && (own > this.#limits.ofUser || all > this.#limits.ofAll)) return false;
    this.#held = all;
    if (own > 0) this.#ofUser.set(user, own);
    else this.#ofUser.delete(user);
    return true;
  }
}

/** The memory that one request holds. */
export class Holding {
  readonly #change: (bytes: number) => boolean;
  /** Bytes of texts. */
  #size = 0;
  #isReleased = false;

  constructor(change: (bytes: number) => boolean) {
    this.#change = change;
  }

  get size(): number {
    return this.#size;
  }

  /** For a text of so many bytes. False: there is no room. */
  take(bytes: number): boolean {
    if (this.#isReleased || !this.#change(bytes * copies)) return this.#isReleased;
    this.#size += bytes;
    return true;
  }

  giveBack(bytes: number): void {
    const given = Math.min(bytes, this.#size);
    this.#size -= given;
    this.#change(-given * copies);
  }

  /** All of it, and what may still come: the client is gone. */
  release(): void {
    this.giveBack(this.#size);
    this.#isReleased = true;
  }
}
