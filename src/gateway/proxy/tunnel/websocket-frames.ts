/**
 * Follows the frames that a server sends, to know where one ends: only there a frame of ours can stand. A server can send frames of two
 * bytes, and what they cost is not the client's: no byte of a head is kept but as a number.
 */
export class WebSocketFrames {
  /** Of the payload of this frame. */
  #left = 0;
  /** Bytes of the head that have come, and that it has as far as is known. */
  #come = 0;
  #size = 2;
  #first = 0;
  #length = 0;
  #isClosed = false;

  /** Whether a frame has just ended, and none ended the whole. */
  get mayAdd(): boolean {
    return this.#left === 0 && this.#come === 0 && !this.#isClosed;
  }

  read(bytes: Buffer): void {
    let index = 0;
    while (index < bytes.length && !this.#isClosed) {
      if (this.#left > 0) {
        const length = Math.min(this.#left, bytes.length - index);
        this.#left -= length;
        index += length;
      } else {
        this.#readHead(bytes[index] as number);
        index += 1;
      }
    }
  }

  #readHead(byte: number): void {
    this.#come += 1;
    if (this.#come === 1) {
      this.#first = byte;
      return;
    }
    if (this.#come === 2) this.#readLength(byte);
    else this.#length = this.#length * 256 + byte;
    if (this.#come < this.#size) return;
    this.#left = this.#length;
    this.#come = 0;
    if ((this.#first & 0x0f) === closing) this.#isClosed = true;
  }

  #readLength(byte: number): void {
    const length = byte & 0x7f;
    this.#size = length === 126 ? 4 : length === 127 ? 10 : 2;
    this.#length = this.#size === 2 ? length : 0;
    // Behind the last frame comes nothing. A server that masks its frames breaks the standard, and is followed no further.
    if ((byte & 0x80) !== 0) this.#isClosed = true;
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
