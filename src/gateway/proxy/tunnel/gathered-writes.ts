import type { Writable } from 'node:stream';

/** Room for {@link maxWaiting} and what TLS hands over at once: the rest would be a small write of its own. */
const chunkBytes = 65_536;
/** Kept for the next tunnel that writes; what comes back beyond them is left to the garbage collector. */
const maxFree = 16;
const free: Buffer[] = [];
/** Behind what is being written, bytes. A reader who stands still holds two chunks, and a third where a TLS socket hands on a whole read. */
const maxWaiting = 49_152;
/**
 * Chunks beside the first of each direction: of the tunnels of one user, and of all, 64 MiB. Many readers who stand still hold no more than
 * that and a chunk each: beyond it nothing is read while something is being written. That is slower, and one user must not do it to all.
 */
const maxHeld = { ofUser: 256, ofAll: 1_024 };
let held = 0;
const heldOfUsers = new Map<string, number>();

interface Chunk {
  readonly memory: Buffer;
  length: number;
}

/**
 * Writes one large piece after the other: what comes while one is being written is put together for the next. Their memory is used again
 * and again. V8 collects the whole heap whenever new buffers have taken some megabytes, and that cost a gateway more than all the rest.
 */
export class GatheredWrites {
  readonly #to: Writable;
  readonly #user: string;
  readonly #onWritten: () => void;
  #isEnding = false;
  /** The last of them may have room. */
  readonly #waiting: Chunk[] = [];
  #waitingBytes = 0;
  #isWriting = false;
  #chunks = 0;

  /** `onWritten`: there may be room again. */
  constructor(to: Writable, user: string, onWritten: () => void) {
    this.#to = to;
    this.#user = user;
    this.#onWritten = onWritten;
    to.once('close', () => this.#giveBack(this.#chunks));
  }

  get hasRoom(): boolean {
    const isPlenty = held < maxHeld.ofAll && (heldOfUsers.get(this.#user) ?? 0) < maxHeld.ofUser;
    return isPlenty ? this.#waitingBytes < maxWaiting : !this.#isWriting;
  }

  /** Copies the bytes: they may change afterwards. */
  write(bytes: Buffer): void {
    for (let done = 0; done < bytes.length; ) {
      const chunk = this.#chunkWithRoom();
      const copied = bytes.copy(chunk.memory, chunk.length, done);
      chunk.length += copied;
      done += copied;
    }
    this.#waitingBytes += bytes.length;
    if (!this.#isWriting) this.#writeNext();
  }

  /** Ends the stream behind what waits. */
  end(): void {
    this.#isEnding = true;
    if (!this.#isWriting) this.#to.end();
  }

  /** Leaves all that waits to the stream, in front of what is written to it next. */
  flush(): void {
    while (this.#waiting.length > 0) this.#writeNext();
  }

  #chunkWithRoom(): Chunk {
    const last = this.#waiting.at(-1);
    if (last !== undefined && last.length < chunkBytes) return last;
    const chunk = { memory: free.pop() ?? Buffer.allocUnsafeSlow(chunkBytes), length: 0 };
    this.#waiting.push(chunk);
    this.#hold(1);
    return chunk;
  }

  /** Once for each chunk: where the receiver was closed, none is left to give back. */
  #giveBack(count: number): void {
    this.#hold(-Math.min(count, this.#chunks));
  }

  /** The first chunk of each counts for no one: without it nothing could be passed on. */
  #hold(count: number): void {
    const before = Math.max(0, this.#chunks - 1);
    this.#chunks += count;
    const change = Math.max(0, this.#chunks - 1) - before;
    if (change === 0) return;
    held += change;
    const ofUser = (heldOfUsers.get(this.#user) ?? 0) + change;
    if (ofUser > 0) heldOfUsers.set(this.#user, ofUser);
    else heldOfUsers.delete(this.#user);
  }

  #writeNext(): void {
    const chunk = this.#waiting.shift();
    if (chunk === undefined) return;
    this.#waitingBytes -= chunk.length;
    if (!this.#to.writable) return this.#giveBack(1);
    this.#isWriting = true;
    this.#to.write(chunk.memory.subarray(0, chunk.length), (error) => {
      // After an error it is not certain that the memory is read no more.
      if (!error && free.length < maxFree) free.push(chunk.memory);
      this.#isWriting = false;
      this.#giveBack(1);
      this.#writeNext();
      if (this.#isEnding && !this.#isWriting) this.#to.end();
      this.#onWritten();
    });
  }
}
