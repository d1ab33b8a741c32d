/** Follows the frames that a server sends, to know where one ends: only there a frame of ours can stand. */
export class WebSocketFrames {
  /** Of the payload of this frame. */
  #left = 0;
  readonly #head: number[] = [];
  #isClosed = false;

  /** Whether a frame has just ended, and none ended the whole. */
  get mayAdd(): boolean {
    return this.#left === 0 && this.#head.length === 0 && !this.#isClosed;
  }

  read(bytes: Buffer): void {
    let index = 0;
    while (index < bytes.length && !this.#isClosed) {
      if (this.#left > 0) {
        const length = Math.min(this.#left, bytes.length - index);
        this.#left -= length;
        index += length;
      } else {
        this.#readHead(bytes[index] ?? 0);
        index += 1;
      }
    }
  }

  #readHead(byte: number): void {
    this.#head.push(byte);
    const [first = 0, second = 0] = this.#head;
    const length = second & 0x7f;
    const size = length === 126 ? 4 : length === 127 ? 10 : 2;
    if (this.#head.length < 2 || this.#head.length < size) return;
    const extended = this.#head.slice(2).reduce((sum, next) => sum * 256 + next, 0);
    this.#head.length = 0;
    this.#left = size === 2 ? length : extended;
    // Behind the last frame comes nothing. A server that masks its frames breaks the standard, and is followed no further.
    if ((first & 0x0f) === closing || (second & 0x80) !== 0) this.#isClosed = true;
  }
}

const closing = 0x8;
/** A policy ends it: RFC 6455, 7.4.1. */
const violation = 1_008;
/** The payload of such a frame has at most 125 bytes, two of which are the code. */
const maxReason = 123;

/** The frame that ends a websocket, with the reason for people. */
export function closeFrame(why: string): Buffer {
  const reason = Buffer.from(why.replace(/[^\x20-\x7e]/g, ' ').slice(0, maxReason));
  const frame = Buffer.alloc(4);
  frame.writeUInt8(0x80 | closing, 0);
  frame.writeUInt8(reason.length + 2, 1);
  frame.writeUInt16BE(violation, 2);
  return Buffer.concat([frame, reason]);
}
