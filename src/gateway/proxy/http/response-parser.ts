import { ChunkDecoder } from './chunk-decoder.ts';
import { Gatherer } from './gatherer.ts';
import { BadResponse, parseResponseHead, type ResponseHead } from './response-head.ts';

export interface ResponseEvents {
  /** Name and value of the headers in turn. */
  onHead(status: number, rawHeaders: string[]): void;
  /** The chunk belongs to the receiver. */
  onData(chunk: Buffer): void;
  /** `isPersistent`: another answer may follow on the connection. `hasSurplus`: bytes that belong to none came behind this one. */
  onEnd(isPersistent: boolean, hasSurplus: boolean): void;
  /** A 101 that was asked for. Nothing more is read as HTTP; `rest` is of the other protocol. */
  onUpgrade(rawHeaders: string[], rest: Buffer): void;
}

const maxHeadBytes = 16_384;
/** Hints in front of one answer: a server could send them for ever. */
const maxHints = 5;
const blankLine = '\r\n\r\n';
const protocol = 'HTTP/1.';
const nothing = Buffer.alloc(0);

/** Reads the answers that come over one connection, one for each request. */
export class ResponseParser {
  readonly #events: ResponseEvents;
  #state: 'idle' | 'head' | 'length' | 'chunks' | 'close' | 'stopped' = 'idle';
  #method = '';
  #mayUpgrade = false;
  #isPersistent = false;
  #keepAlive: number | undefined;
  #hints = 0;
  /** The beginning of a head. */
  #partial = '';
  #left = 0;
  #decoder = new ChunkDecoder();
  readonly #content = new Gatherer((block) => this.#events.onData(block));

  constructor(events: ResponseEvents) {
    this.#events = events;
  }

  /** The next answer belongs to a request with this method. `mayUpgrade`: it asks for another protocol. */
  begin(method: string, mayUpgrade = false): void {
    this.#method = method;
    this.#mayUpgrade = mayUpgrade;
    this.#state = 'head';
    this.#hints = 0;
  }

  /** After how many idle seconds the server said that it will close the connection. */
  get keepAlive(): number | undefined {
    return this.#keepAlive;
  }

  /** Whether there is content to be flushed. */
  get hasContent(): boolean {
    return !this.#content.isEmpty;
  }

  /** Reports the content so far. It is kept until this, the end, or a block is full. */
  flush(): void {
    this.#content.flush();
  }

  /** Nothing is reported any more. */
  stop(): void {
    this.#state = 'stopped';
    this.#content.clear();
  }

  /** Throws BadResponse. The bytes may change afterwards. */
  read(bytes: Buffer): void {
    try {
      this.#readOn(bytes);
    } catch (error) {
      // The bytes that follow could look like the end of an answer.
      this.#state = 'stopped';
      throw error;
    }
  }

  #readOn(bytes: Buffer): void {
    let rest = bytes;
    while (rest.length > 0 && this.#state === 'head') rest = this.#readHead(rest);
    if (rest.length > 0) this.#readBody(rest);
  }

  /** Nothing more will come. False when the answer is not whole. */
  end(): boolean {
    if (this.#state !== 'close') return false;
    this.#finish(nothing);
    return true;
  }

  /** Returns what follows the head. */
  #readHead(bytes: Buffer): Buffer {
    const before = this.#partial.length;
    const text = this.#partial + bytes.toString('latin1', 0, maxHeadBytes + blankLine.length);
    const end = text.indexOf(blankLine, Math.max(0, before - blankLine.length));
    if ((end === -1 ? text.length : end) > maxHeadBytes) throw new BadResponse('its head is too long');
    if (end === -1) return this.#keepPartial(text);
    this.#partial = '';
    const rest = bytes.subarray(end + blankLine.length - before);
    this.#onHead(parseResponseHead(text.slice(0, end)), rest);
    return rest;
  }

  /** A server that speaks another protocol may wait for us now: it is not waited for. */
  #keepPartial(text: string): Buffer {
    if (!text.startsWith(protocol.slice(0, text.length))) throw new BadResponse('it is no HTTP/1.1');
    this.#partial = text;
    return nothing;
  }

  #onHead(head: ResponseHead, rest: Buffer): void {
    const { status, rawHeaders, framing, isPersistent, keepAlive } = head;
    if (status === 101 && this.#mayUpgrade) return this.#onUpgrade(head, rest);
    if (status < 200) return this.#onHint(status);
    this.#keepAlive = keepAlive;
    const hasNoBody = status === 204 || status === 304;
    this.#isPersistent =
      isPersistent && this.#method !== 'HEAD' && (!hasNoBody || framing === 0 || framing === 'close');
    this.#events.onHead(status, rawHeaders);
    if (this.#state !== 'head') return;
    this.#expectBody(hasNoBody || this.#method === 'HEAD' ? 0 : framing, rest);
  }

  #onUpgrade({ rawHeaders, isPersistent }: ResponseHead, rest: Buffer): void {
    if (!isPersistent) throw new BadResponse('it switches protocols and ends the connection');
    this.#state = 'stopped';
    this.#events.onUpgrade(rawHeaders, rest);
  }

  /** Comes before the answer and is not for the client. */
  #onHint(status: number): void {
    if (status === 100 || status === 101)
      throw new BadResponse(`it begins with a ${status} that was not asked for`);
    this.#hints += 1;
    if (this.#hints > maxHints) throw new BadResponse('it has too many hints in front');
  }

  #expectBody(framing: ResponseHead['framing'], rest: Buffer): void {
    if (framing === 0) return this.#finish(rest);
    if (framing === 'close') this.#isPersistent = false;
    if (framing === 'chunks') this.#decoder = new ChunkDecoder();
    if (typeof framing === 'number') this.#left = framing;
    this.#state = typeof framing === 'number' ? 'length' : framing;
  }

  #readBody(bytes: Buffer): void {
    switch (this.#state) {
      case 'length':
        return this.#readLength(bytes);
      case 'chunks':
        return this.#readChunks(bytes);
      case 'close':
        return this.#content.add(bytes, 0, bytes.length);
      case 'stopped':
        return;
      default:
        throw new BadResponse('it goes on behind its end');
    }
  }

  #readLength(bytes: Buffer): void {
    const length = Math.min(bytes.length, this.#left);
    this.#left -= length;
    this.#content.add(bytes, 0, length);
    const rest = length < bytes.length ? bytes.subarray(length) : nothing;
    if (this.#left === 0) this.#finish(rest);
    if (rest.length > 0) this.#readBody(rest);
  }

  #readChunks(bytes: Buffer): void {
    const end = this.#decoder.read(bytes, this.#content);
    const rest = end < bytes.length ? bytes.subarray(end) : nothing;
    if (this.#decoder.isDone) this.#finish(rest);
    if (rest.length > 0) this.#readBody(rest);
  }

  #finish({ length }: Buffer): void {
    this.#content.flush();
    if (this.#state === 'stopped') return;
    this.#state = 'idle';
    this.#events.onEnd(this.#isPersistent, length > 0);
  }
}
