import type { Writable } from 'node:stream';

/** For what is written at once, which is mostly one piece of a TLS socket: bytes. */
const chunkBytes = 65_536;
/** For what comes behind it meanwhile. Node takes a while for each write, whatever its size: with chunks of 64 KiB a megabyte took a fifth more CPU. */
const largeChunkBytes = 262_144;
/** Behind what is being written, bytes. It leaves room for what TLS hands over at once: the rest would be a small write of its own. */
const maxWaiting = largeChunkBytes - 16_384;
/** Kept of each size for the next tunnel that writes; what comes back beyond them is left to the garbage collector. */
const maxFree = 16;
const free = new Map<number, Buffer[]>([
  [chunkBytes, []],
  [largeChunkBytes, []],
]);
/**
 * Bytes of chunks beside the first of each direction: of the tunnels of one user, and of all. Many readers who stand still hold no more than
 * that and a chunk each: beyond it nothing is read while something is being written. That is slower, and one user must not do it to all.
 */
const maxHeld = { ofUser: 16 * 2 ** 20, ofAll: 64 * 2 ** 20 };
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
  /** Of chunks, bytes. */
  #held = 0;

  /** `onWritten`: there may be room again. */
  constructor(to: Writable, user: string, onWritten: () => void) {
    this.#to = to;
    this.#user = user;
    this.#onWritten = onWritten;
    to.once('close', () => this.#giveBack(this.#held));
  }

  get hasRoom(): boolean {
    return this.#isPlenty ? this.#waitingBytes < maxWaiting : !this.#isWriting;
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

  get #isPlenty(): boolean {
    return held < maxHeld.ofAll && (heldOfUsers.get(this.#user) ?? 0) < maxHeld.ofUser;
  }

  #chunkWithRoom(): Chunk {
    const last = this.#waiting.at(-1);
    if (last !== undefined && last.length < last.memory.length) return last;
    const isLarge = this.#isWriting && this.#waiting.length === 0 && this.#isPlenty;
    const size = isLarge ? largeChunkBytes : chunkBytes;
    const chunk = { memory: free.get(size)?.pop() ?? Buffer.allocUnsafeSlow(size), length: 0 };
    this.#waiting.push(chunk);
    this.#hold(size);
    return chunk;
  }

  /** Once for each chunk: where the receiver was closed, none is left to give back. */
  #giveBack(bytes: number): void {
    this.#hold(-Math.min(bytes, this.#held));
  }

  /** As much as a first chunk counts for no one: without it nothing could be passed on. */
  #hold(bytes: number): void {
    const before = Math.max(0, this.#held - chunkBytes);
    this.#held += bytes;
    const change = Math.max(0, this.#held - chunkBytes) - before;
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
    const { memory } = chunk;
    if (!this.#to.writable) return this.#giveBack(memory.length);
    this.#isWriting = true;
    this.#to.write(memory.subarray(0, chunk.length), (error) => {
      // After an error it is not certain that the memory is read no more.
      if (!error) keep(memory);
      this.#isWriting = false;
      this.#giveBack(memory.length);
      this.#writeNext();
      if (this.#isEnding && !this.#isWriting) this.#to.end();
      this.#onWritten();
    });
  }
}

function keep(memory: Buffer): void {
  const ofSize = free.get(memory.length);
  if (ofSize !== undefined && ofSize.length < maxFree) ofSize.push(memory);
}
