import type { Clock } from '../clock.ts';
import { timedOut, unreachable } from '../kube-error.ts';
import type { ByteLane } from './byte-budget.ts';
import type { ClientIdentity, IdentitySource } from './client-identity.ts';
import { type ConnectionOptions, ConnectionSet, type ConnectionSource } from './connections.ts';
import { RequestDeadline } from './request-deadline.ts';
import { type RawResponse, ResponseCollector } from './response-collector.ts';

export interface TransportOptions extends ConnectionOptions {
  readonly authentication: IdentitySource;
  readonly userAgent: string;
  readonly clock: Clock;
  /** Requests that may wait for a connection; one more is refused at once. */
  readonly maxWaiting: number;
  /** Of what is shared with other transports, for large answers. */
  readonly budget?: ByteLane;
}

export interface TransportRequest {
  readonly method: string;
  /** Absolute path without the query. */
  readonly path: string;
  readonly query?: string;
  readonly body?: string | undefined;
  readonly contentType?: string;
  /** More headers, name and value in turn. */
  readonly headers?: readonly string[];
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly signal?: AbortSignal | undefined;
  readonly beforeSend?: (() => void) | undefined;
}

export type StreamRequest = Pick<TransportRequest, 'path' | 'headers'> & {
  readonly query: string;
  readonly signal: AbortSignal;
};

export interface StreamResponse {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly body: AsyncIterable<Buffer> & { destroy(error?: Error): unknown; text(): Promise<string> };
}

/** The needs of a client from the carrier of its requests to an API server. */
export interface RequestTransport extends Pick<Transport, 'send' | 'stream' | 'close'> {
  overOneConnection(): RequestTransport;
}

/** Sends requests as our identity, once more after a 401 when the identity has been renewed. Follows no redirects. */
export class Transport {
  readonly #options: TransportOptions;
  readonly #authentication: IdentitySource;
  readonly #connections: ConnectionSource;
  readonly #clock: Clock;
  readonly #userAgent: string;
  readonly #maxPending: number;
  #pending = 0;

  constructor(options: TransportOptions, connections: ConnectionSource = new ConnectionSet(options)) {
    this.#options = options;
    this.#authentication = options.authentication;
    this.#connections = connections;
    this.#clock = options.clock;
    this.#userAgent = options.userAgent;
    this.#maxPending = options.connections + options.maxWaiting;
  }

  /** A short request. Rejects with a KubeError, the signal's reason, or what `beforeSend` threw. */
  async send(request: TransportRequest): Promise<RawResponse> {
    const { method, path, timeoutMs: ms, signal } = request;
    const reason = () => timedOut({ verb: method, path }, Math.ceil(ms));
    const deadline = new RequestDeadline({ clock: this.#clock, signal, limit: { ms, reason } });
    try {
      const identity = await deadline.before(this.#authentication.current());
      const response = await this.#sendAs(identity, request, deadline);
      if (response.status !== 401) return response;
      if (!(await deadline.before(this.#authentication.refreshed(identity)))) return response;
      return await this.#sendAs(await deadline.before(this.#authentication.current()), request, deadline);
    } finally {
      deadline.clear();
    }
  }

  /** A long-lived GET on a connection of its own. The caller ends it by the signal. */
  async stream(request: StreamRequest): Promise<StreamResponse> {
    const deadline = new RequestDeadline({ clock: this.#clock, signal: request.signal });
    try {
      const identity = await deadline.before(this.#authentication.current());
      const response = await this.#streamAs(identity, request);
      if (response.status !== 401) return response;
      if (!(await deadline.before(this.#authentication.refreshed(identity)))) return response;
      response.body.destroy();
      return await this.#streamAs(await deadline.before(this.#authentication.current()), request);
    } finally {
      deadline.clear();
    }
  }

  /** The same over one connection of its own, see {@link ConnectionSource}. The caller closes it. */
  overOneConnection(): Transport {
    return new Transport(this.#options, this.#connections.single());
  }

  /** Cuts every connection. */
  close(): Promise<void> {
    return this.#connections.close();
  }

  async #sendAs(
    identity: ClientIdentity,
    request: TransportRequest,
    deadline: RequestDeadline,
  ): Promise<RawResponse> {
    const { method, path, maxBytes, beforeSend } = request;
    deadline.throwIfEnded();
    const action = { verb: method, path };
    if (this.#pending >= this.#maxPending)
      throw unreachable(action, new Error('too many requests are waiting'));
    const { promise, resolve, reject } = Promise.withResolvers<RawResponse>();
    const { budget } = this.#options;
    const collector = new ResponseCollector({ action, maxBytes, budget, beforeSend, resolve, reject });
    deadline.onEnd = (reason) => collector.abort(reason);
    this.#pending++;
    try {
      this.#dispatch(identity, request, collector);
      return await promise;
    } finally {
      this.#pending--;
      deadline.onEnd = undefined;
    }
  }

  #dispatch(identity: ClientIdentity, request: TransportRequest, collector: ResponseCollector): void {
    const { method, path, query, body, contentType, headers: more } = request;
    const headers = this.#headers(identity, more, body === undefined ? undefined : contentType);
    const pool = this.#connections.for(identity).requests;
    pool.dispatch({ method, path: targetOf(identity, path, query), headers, body: body ?? null }, collector);
  }

  async #streamAs(
    identity: ClientIdentity,
    { path, query, headers: more, signal }: StreamRequest,
  ): Promise<StreamResponse> {
    const pool = this.#connections.for(identity).watches;
    const options = {
      method: 'GET',
      path: targetOf(identity, path, query),
      headers: this.#headers(identity, more),
      signal,
    };
    try {
      const { statusCode, headers, body } = await pool.request(options);
      // The reader of the body gets its errors. A body that is dropped unread would end the process with one.
      body.on('error', () => undefined);
      return { status: statusCode, headers, body: body as unknown as StreamResponse['body'] };
    } catch (error) {
      signal.throwIfAborted();
      throw unreachable({ verb: 'WATCH', path }, error);
    }
  }

  #headers(identity: ClientIdentity, more: readonly string[] = [], contentType?: string): string[] {
    const headers = [
      ...(more.includes('accept') ? [] : ['accept', 'application/json']),
      'user-agent',
      this.#userAgent,
      ...ownHeaders(identity, more),
      ...more,
    ];
    if (contentType !== undefined) headers.push('content-type', contentType);
    return headers;
  }
}

/** Of two users the API server takes the first, so one that our own kubeconfig names is left out. */
function ownHeaders({ headers }: ClientIdentity, more: readonly string[]): readonly string[] {
  if (!more.includes('impersonate-user')) return headers;
  return headers.filter((_, index) => !headers[index - (index % 2)]?.startsWith('impersonate-'));
}

function targetOf({ server }: ClientIdentity, path: string, query?: string): string {
  const target = server.pathname === '/' ? path : `${server.pathname.replace(/\/$/, '')}${path}`;
  return query ? `${target}?${query}` : target;
}
