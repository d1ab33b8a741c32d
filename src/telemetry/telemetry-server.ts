import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { closeGracefully, type ListenAddress, listenOn } from '../listening.ts';

export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly contentType?: string;
}

/** Answers GET and HEAD; `undefined`: no such path. */
export type Handler = (url: URL) => Answer | undefined | Promise<Answer | undefined>;

export interface TelemetryServerOptions {
  readonly address: ListenAddress;
  /** For error messages and the log: `health` or `metrics`. */
  readonly purpose: string;
  readonly handler: Handler;
  /** How long answers under way may take at `close`, in milliseconds. Default 2000. */
  readonly closeGraceMs?: number;
}

// Probes and scrapes are short and few. Beyond this number connections are dropped, so that no one can use up the process.
const maxConnections = 64;
const answerTimeoutMs = 5_000;

/** A small HTTP server for probes and scrapes: plain HTTP, GET only, no bodies, every wait limited. */
export class TelemetryServer {
  readonly #options: TelemetryServerOptions;
  readonly #server: Server;

  constructor(options: TelemetryServerOptions) {
    this.#options = options;
    this.#server = createServer(
      {
        headersTimeout: answerTimeoutMs,
        requestTimeout: answerTimeoutMs,
        keepAliveTimeout: answerTimeoutMs,
        connectionsCheckingInterval: 1_000,
        maxHeaderSize: 8_192,
      },
      (request, response) => void this.#answer(request, response),
    );
    this.#server.maxConnections = maxConnections;
  }

  get purpose(): string {
    return this.#options.purpose;
  }

  /** Resolves with the address in use. Throws ERR_LISTEN. */
  async listen(): Promise<AddressInfo> {
    const { address, purpose } = this.#options;
    return await listenOn(this.#server, address, purpose);
  }

  /** Lets answers under way end, within the grace; idle connections close at once. Safe to call twice. */
  async close(): Promise<void> {
    await closeGracefully(this.#server, (onEnd) => {
      const timer = setTimeout(onEnd, this.#options.closeGraceMs ?? 2_000);
      return { cancel: () => clearTimeout(timer) };
    });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { status, body, contentType = 'text/plain; charset=utf-8' } = await this.#find(request);
    response.writeHead(status, {
      'content-type': contentType,
      'content-length': Buffer.byteLength(body),
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      ...(status === 405 ? { allow: 'GET, HEAD' } : {}),
      ...(hasBody(request) ? { connection: 'close' } : {}),
    });
    response.end(request.method === 'HEAD' ? undefined : body);
  }

  async #find(request: IncomingMessage): Promise<Answer> {
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return { status: 405, body: 'method not allowed\n' };
    const base = 'http://telemetry';
    if (!URL.canParse(request.url ?? '', base)) return { status: 400, body: 'bad request\n' };
    try {
      return (
        (await this.#options.handler(new URL(request.url ?? '', base))) ?? {
          status: 404,
          body: 'not found\n',
        }
      );
    } catch {
      return { status: 500, body: 'internal error\n' };
    }
  }
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
