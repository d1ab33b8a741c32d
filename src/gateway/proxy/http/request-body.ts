import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';

/** Sends a body at the pace of the server. */
export class RequestBody {
  /** All of it was handed to the socket. */
  isSent = false;
  readonly #body: Readable;
  readonly #socket: Socket;
  readonly #isChunked: boolean;
  readonly #onFailure: (error: Error) => void;
  #isStopped = false;

  constructor(body: Readable, socket: Socket, isChunked: boolean, onFailure: (error: Error) => void) {
    this.#body = body;
    this.#socket = socket;
    this.#isChunked = isChunked;
    this.#onFailure = onFailure;
    body
      .on('data', (chunk: Buffer) => this.#send(chunk))
      .once('end', () => this.#end())
      .once('error', (error) => this.#fail(error))
      .once('close', () => this.#fail(new Error('the body of the request ended too early')));
  }

  /** The socket takes more. */
  resume(): void {
    if (!this.#isStopped) this.#body.resume();
  }

  stop(): void {
    this.#isStopped = true;
    this.#body.pause();
  }

  #send(chunk: Buffer): void {
    if (this.#isStopped || chunk.length === 0) return;
    const takesMore = this.#isChunked ? this.#sendChunk(chunk) : this.#socket.write(chunk);
    if (!takesMore) this.#body.pause();
  }

  #sendChunk(chunk: Buffer): boolean {
    this.#socket.cork();
    this.#socket.write(`${chunk.length.toString(16)}\r\n`, 'latin1');
    this.#socket.write(chunk);
    const takesMore = this.#socket.write('\r\n', 'latin1');
    this.#socket.uncork();
    return takesMore;
  }

  #end(): void {
    if (this.#isStopped) return;
    this.isSent = true;
    if (this.#isChunked) this.#socket.write('0\r\n\r\n', 'latin1');
  }

  #fail(error: Error): void {
    if (this.isSent || this.#isStopped) return;
    this.stop();
    this.#onFailure(error);
  }
}
