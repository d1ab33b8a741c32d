import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';

export interface RequestBodyOptions {
  readonly socket: Socket;
  /** As it was announced; undefined for a body that goes in chunks. */
  readonly length: number | undefined;
  readonly onFailure: (error: Error) => void;
}

/** Sends a body at the pace of the server. */
export class RequestBody {
  /** All of it was handed to the socket. */
  isSent = false;
  readonly #body: Readable;
  readonly #socket: Socket;
  readonly #onFailure: (error: Error) => void;
  /** Of the length that was announced; undefined for a body that goes in chunks. */
  #left: number | undefined;
  #isStopped = false;

  constructor(body: Readable, { socket, length, onFailure }: RequestBodyOptions) {
    this.#body = body;
    this.#socket = socket;
    this.#left = length;
    this.#onFailure = onFailure;
    body
      .on('data', (chunk: Buffer) => this.#send(chunk))
      .once('end', () => this.#end())
      .once('error', (error) => this.#fail(error))
      .once('close', () => this.#fail(tooShort()));
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
    const takesMore = this.#left === undefined ? this.#sendChunk(chunk) : this.#sendPart(chunk, this.#left);
    if (!takesMore) this.#body.pause();
  }

  /** Bytes beyond the length would be taken for the next request. */
  #sendPart(chunk: Buffer, left: number): boolean {
    this.#left = left - chunk.length;
    if (chunk.length <= left) return this.#socket.write(chunk);
    this.#fail(new Error('the body of the request is longer than announced'));
    return false;
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
    if (this.#left !== undefined && this.#left > 0) return this.#fail(tooShort());
    this.isSent = true;
    if (this.#left === undefined) this.#socket.write('0\r\n\r\n', 'latin1');
  }

  #fail(error: Error): void {
    if (this.isSent || this.#isStopped) return;
    this.stop();
    this.#onFailure(error);
  }
}

const tooShort = () => new Error('the body of the request ended too early');
