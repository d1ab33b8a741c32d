import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Dispatcher, EnvHttpProxyAgent, fetch, type Response } from 'undici';

export interface TimeLimits {
  /** To have a connection, TLS included. */
  readonly connectMs: number;
  /** From the request to the head of the answer, and between two pieces of its body. */
  readonly silenceMs: number;
  /** For one whole download. */
  readonly totalMs: number;
}

/** A closed network must not cost more than a few seconds: there are other ways to get the programs. */
export const standardLimits: TimeLimits = { connectMs: 5000, silenceMs: 15_000, totalMs: 1_200_000 };

const maxDigestFileBytes = 65_536;

/** Downloads over https, through the proxy that HTTPS_PROXY names if any. Must be closed. */
export class Downloader {
  readonly #dispatcher: Dispatcher;
  readonly #totalMs: number;

  constructor(limits: TimeLimits = standardLimits) {
    this.#totalMs = limits.totalMs;
    this.#dispatcher = new EnvHttpProxyAgent({
      connect: { timeout: limits.connectMs },
      headersTimeout: limits.silenceMs,
      bodyTimeout: limits.silenceMs,
    });
  }

  /** Streams the answer into a file. Returns its SHA-256 in hex. @throws Error naming the address. */
  async toFile(url: string, file: string, onProgress: (bytes: number) => void): Promise<string> {
    const hash = createHash('sha256');
    let bytes = 0;
    const meter = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        hash.update(chunk);
        bytes += chunk.length;
        onProgress(bytes);
        done(null, chunk);
      },
    });
    const response = await this.#get(url);
    try {
      await pipeline(Readable.fromWeb(bodyOf(response)), meter, createWriteStream(file, { mode: 0o600 }));
    } catch (error) {
      throw new Error(`${url} broke off after ${bytes} bytes`, { cause: rootOf(error) });
    }
    return hash.digest('hex');
  }

  /** A small text. @throws Error naming the address, also when the text is longer than any list of digests. */
  async text(url: string): Promise<string> {
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of bodyOf(await this.#get(url))) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > maxDigestFileBytes) throw new Error(`${url} is too long for a list of digests`);
    }
    return Buffer.concat(chunks).toString('utf8');
  }

  async close(): Promise<void> {
    await this.#dispatcher.destroy();
  }

  async #get(url: string): Promise<Response> {
    const signal = AbortSignal.timeout(this.#totalMs);
    const response = await fetch(url, { dispatcher: this.#dispatcher, signal }).catch((error: unknown) => {
      throw new Error(`${url} does not answer`, { cause: rootOf(error) });
    });
    if (response.ok) return response;
    await response.body?.cancel();
    throw new Error(`${url} answered ${response.status}`);
  }
}

function bodyOf(response: Response): NonNullable<Response['body']> {
  if (response.body === null) throw new Error(`${response.url} answered without a body`);
  return response.body;
}

/** fetch says "fetch failed" and hides the reason, such as ENOTFOUND, in a chain of causes. */
function rootOf(error: unknown): unknown {
  if (error instanceof AggregateError) return error.errors[0];
  return error instanceof Error && error.cause !== undefined ? rootOf(error.cause) : error;
}
