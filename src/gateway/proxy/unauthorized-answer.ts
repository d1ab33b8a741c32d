import { asObject } from '../../api/json.ts';

/**
 * A 401 until it is known whose it is. Of an API server it refuses us, and is not for the client. What a workload behind its
 * subresource `proxy` answers is for the client; no workload is told our identity, so it cannot refuse it.
 */
export class UnauthorizedAnswer {
  readonly #isHead: boolean;
  /** Undefined: no Status comes like that. */
  readonly #read: ((body: Buffer) => boolean) | undefined;
  /** Of the answer. What hands it over keeps them no longer than the call. */
  readonly rawHeaders: readonly string[];
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor({ method, rawHeaders }: { readonly method: string; readonly rawHeaders: readonly string[] }) {
    this.rawHeaders = rawHeaders;
    this.#isHead = method === 'HEAD';
    this.#read = readers.get(mediaTypeOf(rawHeaders));
  }

  add(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
  }

  /** It can no longer become a refusal by an API server, whatever follows. */
  get isOfWorkload(): boolean {
    return this.#read === undefined || this.#bytes > maxStatusBytes;
  }

  /** When all of it is there. To HEAD no body says whose it is, and the client loses nothing by trying again. */
  get isOfAPIServer(): boolean {
    if (this.isOfWorkload) return false;
    return this.#isHead || this.#read?.(Buffer.concat(this.#chunks)) === true;
  }

  takeChunks(): readonly Buffer[] {
    const chunks = this.#chunks;
    this.#chunks = [];
    return chunks;
  }
}

/** The status of an API server has about 130. */
const maxStatusBytes = 4_096;

const mediaTypeOf = (rawHeaders: readonly string[]): string => {
  const index = rawHeaders.findIndex((name, at) => at % 2 === 0 && name.toLowerCase() === 'content-type');
  return (rawHeaders[index + 1] ?? '').replace(/;.*/s, '').trim().toLowerCase();
};

function isJSON(body: Buffer): boolean {
  try {
    const status = asObject(JSON.parse(body.toString()));
    return status['kind'] === 'Status' && status['code'] === 401 && status['reason'] === 'Unauthorized';
  } catch {
    return false;
  }
}

const isYAML = (body: Buffer): boolean =>
  /^kind: Status$/m.test(body.toString()) && /^reason: Unauthorized$/m.test(body.toString());

const isBinary = (body: Buffer): boolean => body.includes('Status') && body.includes('Unauthorized');

/** The formats in which an API server answers, as the client asks for it. */
const readers: ReadonlyMap<string, (body: Buffer) => boolean> = new Map([
  ['application/json', isJSON],
  ['application/yaml', isYAML],
  ['application/vnd.kubernetes.protobuf', isBinary],
  ['application/cbor', isBinary],
]);
