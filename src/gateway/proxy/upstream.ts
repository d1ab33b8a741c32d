import type { Readable } from 'node:stream';
import { type Dispatcher, Pool } from 'undici';
import type { ClientIdentity, IdentitySource } from '../../kube/client/client-identity.ts';
import type { ConnectionSet } from '../../kube/client/connections.ts';

export interface UpstreamRequest {
  readonly method: string;
  /** Path and query: the bytes that were judged. */
  readonly path: string;
  /** Name and value in turn, those about the connection left out. */
  readonly headers: readonly string[];
  readonly body: Readable | Buffer | null;
  /** Watches and the like, which keep their connection. */
  readonly isLong: boolean;
}

/** An API server that requests are passed on to. */
export interface Upstream {
  /** Everything that happens, failures too, comes to the handler. */
  dispatch(request: UpstreamRequest, handler: Dispatcher.DispatchHandler): void;
  /** After a 401, which is about our identity and not the client's. True when there is another one to try. */
  refreshed(): Promise<boolean>;
}

export interface ApiServerUpstreamOptions {
  readonly identity: IdentitySource;
  readonly connections: Pick<ConnectionSet, 'for'>;
  /** Requests that may wait for a connection. */
  readonly maxWaiting: number;
}

/** All connections are in use, and enough requests wait for one. */
export class UpstreamBusy extends Error {}

/** Sends requests under an identity of ours that may impersonate. */
export class ApiServerUpstream implements Upstream {
  readonly #options: ApiServerUpstreamOptions;
  #used: ClientIdentity | undefined;

  constructor(options: ApiServerUpstreamOptions) {
    this.#options = options;
  }

  dispatch(request: UpstreamRequest, handler: Dispatcher.DispatchHandler): void {
    const identity = this.#options.identity.current();
    if (!(identity instanceof Promise)) return this.#send(identity, request, handler);
    identity.then(
      (loaded) => this.#send(loaded, request, handler),
      (error) => fail(handler, error),
    );
  }

  async refreshed(): Promise<boolean> {
    return this.#used !== undefined && (await this.#options.identity.refreshed(this.#used));
  }

  #send(
    identity: ClientIdentity,
    { method, path, headers, body, isLong }: UpstreamRequest,
    handler: Dispatcher.DispatchHandler,
  ): void {
    this.#used = identity;
    const { pathname } = identity.server;
    try {
      const { requests, watches } = this.#options.connections.for(identity);
      const pool = isLong ? watches : requests;
      if (waitingFor(pool) >= this.#options.maxWaiting) throw new UpstreamBusy();
      const options = {
        method: method as Dispatcher.HttpMethod,
        path: pathname === '/' ? path : pathname.replace(/\/$/, '') + path,
        headers: [...headers, ...ownHeaders(identity)],
        body,
      };
      pool.dispatch(options, handler);
    } catch (error) {
      fail(handler, error);
    }
  }
}

const waitingFor = (pool: Dispatcher): number => (pool instanceof Pool ? pool.stats.queued : 0);

/** Who the request is for was decided; a user that our own kubeconfig names must not take its place. */
const ownHeaders = ({ headers }: ClientIdentity): readonly string[] =>
  headers.filter((_, index) => !headers[index - (index % 2)]?.startsWith('impersonate-'));

function fail(handler: Dispatcher.DispatchHandler, error: unknown): void {
  handler.onResponseError?.(null as never, error as Error);
}
