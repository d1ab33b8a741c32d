import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';

/** One request to the fake API server and the means to answer it. */
export class Exchange {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  readonly response: ServerResponse;
  /** Of the connection that it came over: another one has another. */
  readonly socket: Socket;
  /** The user of the client certificate, where there was one. */
  readonly user: string | undefined;

  constructor(request: IncomingMessage, body: string, response: ServerResponse) {
    const url = new URL(request.url ?? '/', 'https://fake');
    this.method = request.method ?? '';
    this.path = url.pathname;
    this.query = url.searchParams;
    this.headers = request.headers;
    this.body = body;
    this.response = response;
    this.socket = request.socket;
    this.user = (request.socket as TLSSocket).getPeerCertificate().subject?.CN?.toString();
  }

  get isWatch(): boolean {
    return this.query.get('watch') === 'true';
  }

  json(): Record<string, unknown> {
    return JSON.parse(this.body);
  }

  answer(status: number, body: unknown, headers: Record<string, string> = {}): void {
    this.response.writeHead(status, { 'content-type': 'application/json', ...headers });
    this.response.end(typeof body === 'string' ? body : JSON.stringify(body));
  }

  /** A Status as the API server words it. */
  refuse(
    code: number,
    reason: string,
    more: { message?: string; details?: object; retryAfter?: number } = {},
  ): void {
    const { message = reason, details, retryAfter } = more;
    const headers: Record<string, string> =
      retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) };
    this.answer(code, { ...statusOf(code, reason, message), ...(details ? { details } : {}) }, headers);
  }

  /** Starts the answer to a watch; lines follow. */
  open(): void {
    this.response.writeHead(200, { 'content-type': 'application/json' });
    this.response.flushHeaders();
  }

  /** Sends one watch event. */
  event(type: string, object: unknown): void {
    this.response.write(`${JSON.stringify({ type, object })}\n`);
  }

  bookmark(resourceVersion: string, annotations?: Record<string, string>): void {
    this.event('BOOKMARK', { metadata: { resourceVersion, ...(annotations ? { annotations } : {}) } });
  }

  /** Cuts the connection in the middle of what was being said. */
  reset(): void {
    this.response.socket?.destroy();
  }
}

export function statusOf(code: number, reason: string, message = reason): object {
  return { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message };
}
