/** A server sent what is no HTTP/1.1 answer, or one that two readers could understand in two ways. */
export class BadResponse extends Error {}

/** Where a body ends: after so many bytes, with the last chunk, or with the connection. */
export type BodyFraming = number | 'chunks' | 'close';

export interface ResponseHead {
  readonly status: number;
  /** Name and value in turn. */
  readonly rawHeaders: string[];
  readonly framing: BodyFraming;
  /** Whether another answer may follow on the connection. */
  readonly isPersistent: boolean;
  /** After how many idle seconds the server will close the connection; undefined where it does not say so. */
  readonly keepAlive: number | undefined;
}

/** Reads a status line and the headers behind it, without the empty line at the end. Throws BadResponse. */
export function parseResponseHead(text: string): ResponseHead {
  if (notPlain.test(text)) throw new BadResponse('its head is no text');
  const [first = '', ...lines] = text.split('\r\n');
  const [, minor, status] = statusLine.exec(first) ?? [];
  if (status === undefined) throw new BadResponse('it does not begin with a status');
  const rawHeaders: string[] = [];
  const framing = new FramingReader();
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(0, colon));
    if (!token.test(name)) throw new BadResponse('a header has no name');
    const value = trimmed(line, colon + 1);
    rawHeaders.push(name, value);
    framing.read(name, value);
  }
  const head = {
    status: Number(status),
    rawHeaders,
    framing: framing.result(),
    keepAlive: framing.keepAlive,
  };
  const isCurrent = minor === '1';
  checkFraming(head, isCurrent);
  return { ...head, isPersistent: isCurrent && !framing.closes };
}

/** Refuses what some readers take for a body, and others for the next answer. */
function checkFraming(
  { status, framing }: Pick<ResponseHead, 'status' | 'framing'>,
  isCurrent: boolean,
): void {
  const hasBody = framing !== 'close' && framing !== 0;
  if (hasBody && (status < 200 || status === 204))
    throw new BadResponse('it has a body that it may not have');
  if (framing === 'chunks' && !isCurrent) throw new BadResponse('it has chunks, and is HTTP/1.0');
}

/** Lines end with both characters: with one of them they would end for some readers only. */
const notPlain = /[^\t\r\n\x20-\x7e\x80-\xff]|\r(?!\n)|(?<!\r)\n/;
const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: |$)/;
const token = /^[\w!#$%&'*+.^`|~-]+$/;

/** Without the blanks around it. No pattern: one that looks for blanks at the end takes a second for 16 KiB of them in the middle. */
function trimmed(line: string, start: number): string {
  let begin = start;
  let end = line.length;
  while (begin < end && isBlank(line.charCodeAt(begin))) begin += 1;
  while (end > begin && isBlank(line.charCodeAt(end - 1))) end -= 1;
  return line.slice(begin, end);
}

const isBlank = (code: number): boolean => code === 0x20 || code === 0x09;

/** Of the headers, those that say where the body ends. Each may stand there once, and only one of both. */
class FramingReader {
  closes = false;
  keepAlive: number | undefined;
  #framing: BodyFraming | undefined;

  read(name: string, value: string): void {
    switch (name.length) {
      case 'connection'.length:
        this.#readConnection(name.toLowerCase(), value);
        break;
      case 'content-length'.length:
        if (name.toLowerCase() === 'content-length') this.#frame(lengthOf(value));
        break;
      case 'transfer-encoding'.length:
        if (name.toLowerCase() === 'transfer-encoding') this.#frame(encodingOf(value));
        break;
    }
  }

  /** Of two names that are equally long. */
  #readConnection(name: string, value: string): void {
    if (name === 'connection' && /(?:^|[\s,])close(?:$|[\s,])/i.test(value)) this.closes = true;
    const seconds = name === 'keep-alive' ? /(?:^|[\s,])timeout=(\d{1,9})/i.exec(value)?.[1] : undefined;
    if (seconds !== undefined) this.keepAlive = Number(seconds);
  }

  result(): BodyFraming {
    return this.#framing ?? 'close';
  }

  #frame(framing: BodyFraming): void {
    if (this.#framing !== undefined) throw new BadResponse('it says more than once where its body ends');
    this.#framing = framing;
  }
}

function lengthOf(value: string): number {
  if (!/^\d{1,15}$/.test(value)) throw new BadResponse('its Content-Length is no number');
  return Number(value);
}

function encodingOf(value: string): 'chunks' {
  if (value.toLowerCase() !== 'chunked') throw new BadResponse('its Transfer-Encoding is not chunked');
  return 'chunks';
}
