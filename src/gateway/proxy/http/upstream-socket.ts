import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { RequestBody } from './request-body.ts';
import { lengthIn, requestText } from './request-text.ts';
import { type ResponseEvents, ResponseParser } from './response-parser.ts';
import type { Carrier, UpstreamExchange } from './upstream-exchange.ts';

export interface UpstreamSocketEvents {
  /** It can carry another request. */
  readonly onFree: (connection: UpstreamSocket) => void;
  /** It is to be flushed as soon as what has arrived is read. */
  readonly onContent: (connection: UpstreamSocket) => void;
  readonly onClose: (connection: UpstreamSocket) => void;
}

/** A connection to a server, which carries one request after the other. */
export class UpstreamSocket implements Carrier, ResponseEvents {
  /** While it has nothing to do: how long it may be used; the time of the pool. */
  freeUntil = 0;
  /** Whether it was opened for a request that asks for another protocol. */
  isForUpgrade = false;
  readonly #socket: Socket;
  readonly #host: string;
  readonly #events: UpstreamSocketEvents;
  readonly #parser = new ResponseParser(this);
  #exchange: UpstreamExchange | undefined;
  #body: RequestBody | undefined;
  #isFlushDue = false;
  #isSwitched = false;

  constructor(socket: Socket, host: string, events: UpstreamSocketEvents) {
    this.#socket = socket;
    this.#host = host;
    this.#events = events;
    socket
      .on('drain', () => this.#body?.resume())
      .on('end', () => this.#onServerEnd())
      .on('error', (error) => this.#abortFlushed(error))
      .on('close', () => this.#onClosed());
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed;
  }

  /** After how many idle seconds the server said that it will close it. */
  get keepAlive(): number | undefined {
    return this.#parser.keepAlive;
  }

  carry(exchange: UpstreamExchange): void {
    this.#exchange = exchange;
    this.isForUpgrade = Boolean(exchange.options.upgrade);
    this.#parser.begin(exchange.options.method, this.isForUpgrade);
    try {
      exchange.onStart(this);
      if (this.#exchange === exchange) this.#send(exchange.options);
    } catch (error) {
      this.abort(error as Error);
    }
  }

  /** The bytes may change afterwards. */
  read(bytes: Buffer): void {
    if (this.#isSwitched) return this.#passOn(bytes);
    try {
      this.#parser.read(bytes);
    } catch (error) {
      this.#abortFlushed(error as Error);
    }
    if (!this.#parser.hasContent || this.#isFlushDue) return;
    this.#isFlushDue = true;
    this.#events.onContent(this);
  }

  flush(): void {
    this.#isFlushDue = false;
    try {
      this.#parser.flush();
    } catch (error) {
      this.abort(error as Error);
    }
  }

  /** Ends it, and the request on it. */
  abort(reason: Error): void {
    const exchange = this.#exchange;
    this.#release();
    this.#parser.stop();
    this.#socket.destroy();
    exchange?.fail(reason);
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  onHead(status: number, rawHeaders: string[]): void {
    this.#exchange?.onHead(status, rawHeaders);
  }

  onData(chunk: Buffer): void {
    this.#exchange?.onData(chunk);
  }

  onEnd(isPersistent: boolean, hasSurplus: boolean): void {
    const exchange = this.#exchange;
    // The rest of a request that was answered early would be taken for the next one, or hold it up.
    const isSent = this.#body?.isSent !== false && !this.#socket.writableNeedDrain;
    if (exchange?.paused) this.#socket.resume();
    this.#release();
    if (isPersistent && isSent) this.#events.onFree(this);
    else this.#socket.destroy();
    exchange?.onEnd(hasSurplus);
  }

  /**
   * It is no stream of answers any more, and carries no other request. From now on it emits `data` as every stream does, but of bytes that may
   * change afterwards.
   */
  onUpgrade(rawHeaders: string[], rest: Buffer): void {
    const exchange = this.#exchange;
    this.#exchange = undefined;
    this.#isSwitched = true;
    this.#socket.pause();
    if (rest.length > 0) this.#socket.unshift(Buffer.from(rest));
    if (exchange === undefined) this.#socket.destroy();
    else exchange.onUpgrade(rawHeaders, this.#socket);
  }

  #passOn(bytes: Buffer): void {
    const socket = this.#socket;
    // First come the bytes behind the head, which may still wait for a reader.
    const mustWait = socket.readableLength > 0 || socket.listenerCount('data') === 0;
    if (mustWait) socket.push(Buffer.from(bytes));
    else socket.emit('data', bytes);
  }

  #send(options: Dispatcher.DispatchOptions): void {
    const head = requestText(options, this.#host);
    const { body = null, method } = options;
    if (Buffer.isBuffer(body)) return this.#sendWhole(head, body);
    if (body === null) {
      const length = methodsWithBody.has(method) ? 'content-length: 0\r\n' : '';
      this.#socket.write(`${head}${length}\r\n`, 'latin1');
      return;
    }
    if ((body as Readable).destroyed) throw new Error('the body of the request is gone');
    const length = lengthIn(options);
    const framing = length === undefined ? 'transfer-encoding: chunked' : `content-length: ${length}`;
    this.#socket.write(`${head}${framing}\r\n\r\n`, 'latin1');
    const onFailure = (error: Error) => this.abort(error);
    this.#body = new RequestBody(body as Readable, { socket: this.#socket, length, onFailure });
  }

  #sendWhole(head: string, body: Buffer): void {
    this.#socket.cork();
    this.#socket.write(`${head}content-length: ${body.length}\r\n\r\n`, 'latin1');
    this.#socket.write(body);
    this.#socket.uncork();
  }

  #release(): void {
    this.#exchange = undefined;
    if (this.#body?.isSent === false) this.#body.stop();
    this.#body = undefined;
  }

  #onServerEnd(): void {
    try {
      if (!this.#parser.end()) this.#abortFlushed(new Error('the server closed the connection'));
    } catch (error) {
      this.abort(error as Error);
    }
  }

  /** Ends it at once. The client still gets what came before. */
  #abortFlushed(reason: Error): void {
    if (!this.#parser.hasContent) return this.abort(reason);
    this.flush();
    const exchange = this.#exchange;
    this.#exchange = undefined;
    this.abort(reason);
    setImmediate(() => exchange?.fail(reason));
  }

  #onClosed(): void {
    this.abort(new Error('the connection was closed'));
    this.#events.onClose(this);
  }
}

/** Without a length some servers wait for their body. */
const methodsWithBody: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);
