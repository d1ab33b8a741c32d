import type { Readable, Writable } from 'node:stream';
import { GatheredWrites } from './gathered-writes.ts';

export interface PumpOptions {
  /** Bytes that it emits may change afterwards. */
  readonly from: Readable;
  readonly to: Writable;
  /** Resolves when it is the turn of the user, who has received and sent so many bytes. Rejects when that is over. */
  readonly turn: (bytes: number) => Promise<void>;
  /** Whose share of the memory is held. */
  readonly user: string;
  /** Called before bytes are written. */
  readonly onBytes?: ((bytes: Buffer) => void) | undefined;
  /** Called when the receiver has taken what was written. */
  readonly onTaken?: (() => void) | undefined;
}

/** Passed on before others come to their turn: pieces, for a small one takes the thread nearly as long as a large one, or bytes. */
const turnPieces = 64;
const turnBytes = 262_144;
/** Each piece takes the thread some time, whatever its size: it counts as so many bytes at least. */
const minPiece = 4_096;

/** Passes on what one side of a tunnel sends, at the pace of the other side and of the user's share of the main thread. */
export class Pump {
  readonly #options: PumpOptions;
  readonly #writes: GatheredWrites;
  readonly #onData = (bytes: Buffer): void => this.#pass(bytes);
  #passed = 0;
  #pieces = 0;
  #isInLine = false;
  #isStopped = false;

  constructor(options: PumpOptions) {
    this.#options = options;
    this.#writes = new GatheredWrites(options.to, options.user, () => this.#onWritten());
  }

  start(): void {
    this.#options.from.on('data', this.#onData);
    this.#goOn();
  }

  /** Passes nothing on any more but what came before. */
  stop(): void {
    this.#stopReading();
    this.#writes.flush();
  }

  /** The same at the pace of the receiver, and then ends it. */
  end(): void {
    this.#stopReading();
    this.#writes.end();
  }

  #stopReading(): void {
    this.#isStopped = true;
    this.#options.from.off('data', this.#onData);
  }

  #onWritten(): void {
    this.#options.onTaken?.();
    this.#goOn();
  }

  #pass(bytes: Buffer): void {
    const { from, to, onBytes } = this.#options;
    if (!to.writable) return;
    onBytes?.(bytes);
    this.#writes.write(bytes);
    // It is received once, and sent once.
    this.#passed += 2 * Math.max(bytes.length, minPiece);
    this.#pieces += 1;
    // A TLS socket hands on all pieces of what it has read, also after it was paused. The user stands in the line once for all of them.
    if (this.#isTurnUsed && !this.#isInLine) void this.#waitForTurn();
    if (!this.#mayRead) from.pause();
  }

  async #waitForTurn(): Promise<void> {
    this.#isInLine = true;
    while (this.#isTurnUsed && !this.#isStopped) {
      const passed = this.#passed;
      this.#passed = 0;
      this.#pieces = 0;
      await this.#options.turn(passed).catch(() => undefined);
    }
    this.#isInLine = false;
    this.#goOn();
  }

  get #isTurnUsed(): boolean {
    return this.#pieces >= turnPieces || this.#passed >= 2 * turnBytes;
  }

  get #mayRead(): boolean {
    return !this.#isInLine && this.#writes.hasRoom;
  }

  #goOn(): void {
    if (!this.#isStopped && this.#mayRead) this.#options.from.resume();
  }
}
