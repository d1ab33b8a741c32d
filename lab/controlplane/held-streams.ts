const headerBytes = 9;

/**
 * The frames from one side of an HTTP/2 connection. The streams that are open when `hold` is called are held back, and later
 * ones pass: of a connection to etcd, watches are held, while requests go on.
 */
export class HeldStreams {
  #rest: Buffer = Buffer.alloc(0);
  #latest = 0;
  #heldUpTo = 0;
  #held: Buffer[] = [];

  hold(): void {
    this.#heldUpTo = this.#latest;
  }

  /** Returns what was held back. */
  release(): Buffer {
    this.#heldUpTo = 0;
    return Buffer.concat(this.#held.splice(0));
  }

  /** Takes what was sent and returns what goes on. */
  push(chunk: Buffer): Buffer {
    let bytes = Buffer.concat([this.#rest, chunk]);
    const passing: Buffer[] = [];
    for (let end = frameEnd(bytes); end <= bytes.length; end = frameEnd(bytes)) {
      const frame = bytes.subarray(0, end);
      // The highest bit is reserved; 0 is the connection itself.
      const stream = frame.readUInt32BE(5) & 0x7fffffff;
      this.#latest = Math.max(this.#latest, stream);
      (stream > 0 && stream <= this.#heldUpTo ? this.#held : passing).push(frame);
      bytes = bytes.subarray(end);
    }
    this.#rest = bytes;
    return Buffer.concat(passing);
  }
}

/** Length of the first frame; infinite while not even its header is there. */
function frameEnd(bytes: Buffer): number {
  return bytes.length < headerBytes ? Number.POSITIVE_INFINITY : headerBytes + bytes.readUIntBE(0, 3);
}
