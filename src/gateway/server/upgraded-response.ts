import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** No client that follows the standard sends anything before it is told that the protocol is another one. */
const maxEarlyBytes = 65_536;
/** Each piece is kept by itself: it counts as so many bytes at least, or pieces of one byte would fill the memory. */
const minPiece = 1_024;

/** The client's side of a connection that may become a tunnel. */
export interface HandedOver {
  readonly socket: Socket;
  /** Bytes that the client has sent already, in front of those of the socket. */
  readonly early: readonly Buffer[];
}

/**
 * The answer to a request that may become a tunnel. Node hands the connection of such a request over and looks after it no more, so
 * this does: as long as nothing else takes the connection, it ends with the answer.
 */
export class UpgradedResponse extends ServerResponse {
  readonly #socket: Socket;
  #early: Buffer[] = [];
  #earlyBytes = 0;
  readonly #onEarly = (bytes: Buffer): void => this.#keepEarly(bytes);
  readonly #onEnd = (): void => void this.#socket.destroy();
  #cut = (_why: string): void => void this.destroy();

  /** `head`: what came behind the head of the request. */
  constructor(request: IncomingMessage, head: Buffer) {
    super(request);
    this.#socket = request.socket;
    this.shouldKeepAlive = false;
    this.assignSocket(this.#socket);
    if (head.length > 0) this.#keepEarly(head);
    this.once('finish', () => this.#socket.destroySoon());
    // The one of the base class is for sockets that the server of Node looks after.
    const get = () => this.#socket.writableNeedDrain;
    Object.defineProperty(this, 'writableNeedDrain', { get });
    this.#socket
      .setTimeout(0)
      .on('error', () => undefined)
      .on('drain', () => this.emit('drain'))
      // Without a reader no one would see that the client leaves.
      .on('data', this.#onEarly)
      .on('end', this.#onEnd);
  }

  /** From now on the connection belongs to the caller. `cut` ends it at once, for that reason. */
  handOver(cut: (why: string) => void): HandedOver {
    this.#cut = cut;
    this.#socket.off('data', this.#onEarly).off('end', this.#onEnd).pause();
    const early = this.#early;
    this.#early = [];
    return { socket: this.#socket, early };
  }

  /** Ends the connection at once. Where the protocol allows it, the client is told why. */
  cut(why: string): void {
    this.#cut(why);
  }

  #keepEarly(bytes: Buffer): void {
    this.#earlyBytes += Math.max(bytes.length, minPiece);
    if (this.#earlyBytes > maxEarlyBytes) this.#socket.destroy();
    else this.#early.push(bytes);
  }
}
