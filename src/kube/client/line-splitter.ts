const newline = 0x0a;

export class LineTooLong extends Error {}

/** Cuts a byte stream at line feeds. Bytes are joined before they are decoded, so no character is torn apart. */
export class LineSplitter {
  readonly #maxBytes: number;
  #rest: Buffer[] = [];
  #restBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The lines that end in this chunk, decoded one by one. Empty lines are left out. Throws {@link LineTooLong}. */
  *push(chunk: Buffer): Generator<string> {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      const line = this.#join(chunk.subarray(start, end));
      start = end + 1;
      if (line !== '') yield line;
    }
    if (start < chunk.length) this.#keep(chunk.subarray(start));
  }

  #join(end: Buffer): string {
    this.#check(end.length);
    if (this.#restBytes === 0) return end.toString('utf8');
    const line = Buffer.concat([...this.#rest, end]).toString('utf8');
    this.#rest = [];
    this.#restBytes = 0;
    return line;
  }

  #keep(part: Buffer): void {
    this.#check(part.length);
    this.#rest.push(part);
    this.#restBytes += part.length;
  }

  #check(more: number): void {
    if (this.#restBytes + more > this.#maxBytes)
      throw new LineTooLong(`a line of more than ${this.#maxBytes} bytes`);
  }
}
