/** Half of what a response to a client takes before it asks to wait. */
const blockBytes = 32_768;

/** Joins the small pieces in which API servers send lists: each one that is passed on alone costs more than its bytes. */
export class Gatherer {
  readonly #onBlock: (block: Buffer) => void;
  #block: Buffer | undefined;
  #length = 0;

  constructor(onBlock: (block: Buffer) => void) {
    this.#onBlock = onBlock;
  }

  get isEmpty(): boolean {
    return this.#length === 0;
  }

  /** Copies these bytes. */
  add(bytes: Buffer, start: number, end: number): void {
    const size = end - start;
    const isFull = this.#block !== undefined && size > this.#block.length - this.#length;
    if (isFull) this.flush();
    // Most answers are one piece, and need no more room than that. Never from the memory that Node shares among small buffers.
    this.#block ??= Buffer.allocUnsafeSlow(isFull ? Math.max(size, blockBytes) : size);
    this.#length += bytes.copy(this.#block, this.#length, start, end);
  }

  /** Hands over what there is. */
  flush(): void {
    const [block, length] = [this.#block, this.#length];
    this.clear();
    if (block !== undefined && length > 0) this.#onBlock(fitted(block, length));
  }

  clear(): void {
    this.#block = undefined;
    this.#length = 0;
  }
}

/**
 * The beginning of a block, in not much more memory than it needs. It is kept until its client takes it, and only its bytes are counted:
 * thousands of blocks with a byte each would fill the memory.
 */
function fitted(block: Buffer, length: number): Buffer {
  const used = block.subarray(0, length);
  if (length * 2 >= block.length) return used;
  const copy = Buffer.allocUnsafeSlow(length);
  used.copy(copy);
  return copy;
}
