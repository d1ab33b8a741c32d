import type { IncomingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Dispatcher } from 'undici';
import { BadResponse } from './response-head.ts';

/** A connection that carries a request. */
export interface Carrier {
  abort(reason: Error): void;
  pause(): void;
  resume(): void;
}

/** A request and its answer. */
export class UpstreamExchange implements Dispatcher.DispatchController {
  readonly options: Dispatcher.DispatchOptions;
  readonly #handler: Dispatcher.DispatchHandler;
  #carrier: Carrier | undefined;
  rawHeaders: string[] | null = null;
  paused = false;
  reason: Error | null = null;
  isOver = false;

  constructor(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) {
    this.options = options;
    this.#handler = handler;
  }

  get aborted(): boolean {
    return this.reason !== null;
  }

  abort(reason: Error): void {
    if (this.isOver) return;
    this.reason = reason;
    this.#carrier?.abort(reason);
  }

  pause(): void {
    if (this.isOver || this.paused) return;
    this.paused = true;
    this.#carrier?.pause();
  }

  resume(): void {
    if (this.isOver || !this.paused) return;
    this.paused = false;
    this.#carrier?.resume();
  }

  onStart(carrier: Carrier): void {
    this.#carrier = carrier;
    this.#handler.onRequestStart?.(this, undefined);
  }

  onHead(status: number, rawHeaders: string[]): void {
    this.rawHeaders = rawHeaders;
    this.#handler.onResponseStart?.(this, status, headersByName(rawHeaders));
    // A watch lives for long, and its server chose how many there are.
    this.rawHeaders = null;
  }

  onData(chunk: Buffer): void {
    this.#handler.onResponseData?.(this, chunk);
  }

  /** Too many bytes make it an aborted one: the answer is whole, and who sent it is not to be trusted. */
  onEnd(hasSurplus: boolean): void {
    this.isOver = true;
    if (hasSurplus) this.reason = new BadResponse('it goes on behind its end');
    this.#handler.onResponseEnd?.(this, {});
  }

  /** The connection belongs to the handler from now on. */
  onUpgrade(rawHeaders: string[], socket: Duplex): void {
    this.rawHeaders = rawHeaders;
    this.isOver = true;
    if (this.#handler.onRequestUpgrade === undefined) socket.destroy();
    else this.#handler.onRequestUpgrade(this, 101, headersByName(rawHeaders), socket);
  }

  /** Only the first call counts. */
  fail(error: Error): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#handler.onResponseError?.(this, error);
  }
}

/** Names in lower case; what stands there more than once is a list. The server chose the names, so none may lead to a prototype. */
function headersByName(rawHeaders: readonly string[]): IncomingHttpHeaders {
  const headers: NodeJS.Dict<string | string[]> = Object.create(null);
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = [rawHeaders[index]?.toLowerCase(), rawHeaders[index + 1]];
    const former = headers[name];
    if (former === undefined) headers[name] = value;
    else if (typeof former === 'string') headers[name] = [former, value];
    else former.push(value);
  }
  return headers;
}
