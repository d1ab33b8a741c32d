import { type ErrorAnswer, tooManyRequests } from '../../server/error-answer.ts';
import type { BodyOwner } from '../../turns/large-bodies.ts';
import { Refusal } from './reply.ts';

export interface HeldBytesLimits {
  readonly ofUser: number;
  /** Of all requests with one credential: a leaked one must leave memory to the others of its user, which disable it. */
  readonly ofCredential: number;
  readonly ofAll: number;
}

/** Read, parsed and written again, a text stands in memory about so often. */
const copies = 4;

/**
 * Memory that requests about credentials of one's own have at once, in all, of one user and of one credential. Objects may be large, a
 * client may read slowly or send a hundred requests, and all users share the memory of the process.
 */
export class HeldBytes {
  readonly #limits: HeldBytesLimits;
  #held = 0;
  readonly #ofUser = new Map<string, number>();
  readonly #ofCredential = new Map<string, number>();

  constructor(limits: HeldBytesLimits) {
    this.#limits = limits;
  }

  /** For one request of the owner; release it when the request is over. */
  hold(owner: BodyOwner): Holding {
    return new Holding((bytes) => this.#change(owner, bytes));
  }

  /** An answer: there is no room, and nothing was taken. */
  #change({ user, credential }: BodyOwner, bytes: number): ErrorAnswer | undefined {
    const { ofUser, ofCredential, ofAll } = this.#limits;
    const next = {
      ofCredential: (this.#ofCredential.get(credential) ?? 0) + bytes,
      ofUser: (this.#ofUser.get(user) ?? 0) + bytes,
      ofAll: this.#held + bytes,
    };
    if (bytes > 0 && next.ofCredential > ofCredential) return noRoom.ofCredential;
    if (bytes > 0 && next.ofUser > ofUser) return noRoom.ofUser;
    if (bytes > 0 && next.ofAll > ofAll) return noRoom.ofAll;
    set(this.#ofCredential, credential, next.ofCredential);
    set(this.#ofUser, user, next.ofUser);
    this.#held = next.ofAll;
    return undefined;
  }
}

function set(counts: Map<string, number>, key: string, bytes: number): void {
  if (bytes > 0) counts.set(key, bytes);
  else counts.delete(key);
}

const noRoom = {
  ofCredential: tooManyRequests('this credential'),
  ofUser: tooManyRequests('this user'),
  ofAll: tooManyRequests('all users together'),
};

/** The memory that one request holds. */
export class Holding {
  readonly #change: (bytes: number) => ErrorAnswer | undefined;
  /** Bytes of texts. */
  #size = 0;
  #isReleased = false;

  constructor(change: (bytes: number) => ErrorAnswer | undefined) {
    this.#change = change;
  }

  get size(): number {
    return this.#size;
  }

  /** For a text of so many bytes. An answer: there is no room. */
  take(bytes: number): ErrorAnswer | undefined {
    if (this.#isReleased) return undefined;
    const refusal = this.#change(bytes * copies);
    if (refusal === undefined) this.#size += bytes;
    return refusal;
  }

  /** The same. Throws a Refusal. */
  takeOrThrow(bytes: number): void {
    const refusal = this.take(bytes);
    if (refusal !== undefined) throw new Refusal(refusal);
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
