import type { Gatherer } from './gatherer.ts';
import { BadResponse } from './response-head.ts';

type State =
  | 'size'
  | 'extension'
  | 'sizeLF'
  | 'data'
  | 'dataCR'
  | 'dataLF'
  | 'line'
  | 'trailer'
  | 'trailerLF'
  | 'lastLF'
  | 'done';

const [tab, lineFeed, carriageReturn, semicolon] = [0x09, 0x0a, 0x0d, 0x3b];
/** No chunk of a sane server is larger than eight digits say. */
const maxDigits = 8;
/** Of all extensions and trailers of an answer. Both are left out. */
const maxIgnored = 16_384;

/** Takes the framing off a body that comes in chunks. */
export class ChunkDecoder {
  #state: State = 'size';
  /** Of the chunk: its size while that is read, and then what is still to come. */
  #left = 0;
  #digits = 0;
  #ignored = 0;

  get isDone(): boolean {
    return this.#state === 'done';
  }

  /** Reads on, and returns where the body ends, or the number of bytes when it goes on. Throws BadResponse. */
  read(bytes: Buffer, content: Gatherer): number {
    let at = 0;
    while (at < bytes.length && this.#state !== 'done') {
      if (this.#state === 'data') at = this.#copy(bytes, at, content);
      else this.#step(bytes[at++] ?? 0);
    }
    return at;
  }

  #copy(bytes: Buffer, at: number, content: Gatherer): number {
    const end = Math.min(bytes.length, at + this.#left);
    content.add(bytes, at, end);
    this.#left -= end - at;
    if (this.#left === 0) this.#state = 'dataCR';
    return end;
  }

  #step(byte: number): void {
    switch (this.#state) {
      case 'size':
        return this.#readSize(byte);
      case 'extension':
        return this.#ignoreUntilCR(byte, 'sizeLF');
      case 'sizeLF':
        return this.#expect(byte, lineFeed, this.#left === 0 ? 'line' : 'data');
      case 'dataCR':
        return this.#expect(byte, carriageReturn, 'dataLF');
      case 'dataLF':
        return this.#expect(byte, lineFeed, 'size');
      case 'line':
        return byte === carriageReturn ? this.#go('lastLF') : this.#ignoreUntilCR(byte, 'trailerLF');
      case 'trailer':
        return this.#ignoreUntilCR(byte, 'trailerLF');
      case 'trailerLF':
        return this.#expect(byte, lineFeed, 'line');
      default:
        return this.#expect(byte, lineFeed, 'done');
    }
  }

  #readSize(byte: number): void {
    const digit = hexadecimal(byte);
    if (digit !== undefined && this.#digits < maxDigits) {
      this.#left = this.#left * 16 + digit;
      this.#digits += 1;
    } else if (this.#digits > 0 && (byte === carriageReturn || byte === semicolon)) {
      this.#digits = 0;
      this.#go(byte === semicolon ? 'extension' : 'sizeLF');
    } else throw new BadResponse('the size of a chunk is no number');
  }

  #ignoreUntilCR(byte: number, next: State): void {
    if (byte === carriageReturn) return this.#go(next);
    this.#ignored += 1;
    if (this.#ignored > maxIgnored || (byte < 0x20 && byte !== tab) || byte === 0x7f)
      throw new BadResponse('the text beside its chunks is too long, or no text');
    if (this.#state === 'line') this.#go('trailer');
  }

  #expect(byte: number, expected: number, next: State): void {
    if (byte !== expected) throw new BadResponse('a chunk does not end where it should');
    this.#go(next);
  }

  #go(state: State): void {
    this.#state = state;
  }
}

function hexadecimal(byte: number): number | undefined {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : undefined;
}
