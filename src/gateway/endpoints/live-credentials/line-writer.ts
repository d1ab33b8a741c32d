import type { ServerResponse } from 'node:http';
import type { LiveLineType, LiveObjects } from '../../../api/live-credentials.ts';
import type { Clock } from '../../../kube/clock.ts';

/** Lines are handed to the socket in pieces of at least this size, characters. */
const pieceSize = 2 ** 16;
/** A reader who takes no bytes for so long is cut, milliseconds. What they miss is not kept for them. */
export const maxStallMs = 10_000;

/** Writes the lines of one stream, at the pace of its reader. */
export class LineWriter {
  readonly #response: ServerResponse;
  readonly #clock: Clock;
  #number = 0;
  #piece = '';

  constructor(response: ServerResponse, clock: Clock) {
    this.#response = response;
    this.#clock = clock;
  }

  /** Resolves when there is room for another line. */
  async write<Type extends LiveLineType>(type: Type, object: LiveObjects[Type]): Promise<void> {
    this.#number += 1;
    this.#piece += `${JSON.stringify({ type, number: this.#number, object })}\n`;
    if (this.#piece.length >= pieceSize) await this.flush();
  }

  /** Hands everything over. */
  async flush(): Promise<void> {
    const piece = this.#piece;
    this.#piece = '';
    if (piece === '' || this.#response.destroyed || this.#response.write(piece)) return;
    const response = this.#response;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = this.#clock.setTimer(() => response.destroy(), maxStallMs);
    response.once('drain', resolve).once('close', resolve);
    await promise;
    timer.cancel();
    response.off('drain', resolve).off('close', resolve);
  }

  /** Hands everything over, and ends the response. Resolves when the system has it, or the reader is gone. */
  async end(): Promise<void> {
    await this.flush();
    if (this.#response.destroyed) return;
    const response = this.#response;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = this.#clock.setTimer(() => response.destroy(), maxStallMs);
    response.once('finish', resolve).once('close', resolve).end();
    await promise;
    timer.cancel();
  }
}
