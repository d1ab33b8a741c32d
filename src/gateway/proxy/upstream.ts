import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { ClientIdentity, IdentitySource } from '../../kube/client/client-identity.ts';
import type { ConnectionSet } from '../../kube/client/connections.ts';
import type { Clock } from '../../kube/clock.ts';
import { RequestSlots } from '../turns/request-slots.ts';
import { withoutHeaders } from './request-headers.ts';
import { SentRequest } from './sent-request.ts';

export interface UpstreamRequest {
  readonly method: string;
  /** Path and query: the bytes that were judged. */
  readonly path: string;
  /** Name and value in turn, those about the connection left out. */
  readonly headers: readonly string[];
  readonly body: Readable | Buffer | null;
  /** Watches and the like, which keep their connection. */
  readonly isLong: boolean;
  /** Who it is for. Users share the connections. */
  readonly user: string;
  /** The protocol that it asks for in place of HTTP. */
  readonly upgrade?: string | undefined;
}

/** A request that was handed over. */
export interface Sent {
  /** Ours, with which it was sent; undefined before. */
  readonly identity: ClientIdentity | undefined;
  /** Ends it, also while it still waits. */
  abort(reason: Error): void;
}

/** An API server that requests are passed on to. */
export interface Upstream {
  /** Everything that happens, failures too, comes to the handler. */
  dispatch(request: UpstreamRequest, handler: Dispatcher.DispatchHandler): Sent;
  /** After a 401 to it, which is about our identity and not the client's. True when there is another one to try. */
  refreshed(sent: Sent): Promise<boolean>;
}

export interface UpstreamLimits {
  /** Requests at once, and so connections: a pool opens one for each, and lets none wait. */
  readonly connections: number;
  readonly longConnections: number;
  /** Requests that may wait for a connection of either kind. */
  readonly maxWaiting: number;
  readonly maxWaitMs: number;
}

export interface ApiServerUpstreamOptions {
  readonly identity: IdentitySource;
  readonly connections: Pick<ConnectionSet, 'for'>;
  readonly limits: UpstreamLimits;
  readonly clock: Clock;
}

/** Sends requests under an identity of ours that may impersonate. */
export class ApiServerUpstream implements Upstream {
  readonly #options: ApiServerUpstreamOptions;
  readonly #short: RequestSlots;
  readonly #long: RequestSlots;
  #own: OwnPart | undefined;

  constructor(options: ApiServerUpstreamOptions) {
    const { connections, longConnections, maxWaiting } = options.limits;
    this.#options = options;
    this.#short = new RequestSlots({ max: connections, maxWaiting });
    this.#long = new RequestSlots({ max: longConnections, maxWaiting });
  }

  dispatch(request: UpstreamRequest, handler: Dispatcher.DispatchHandler): Sent {
    const { clock, limits } = this.#options;
    const sent = new SentRequest({
      user: request.user,
      slots: request.isLong ? this.#long : this.#short,
      handler,
      clock,
      maxWaitMs: limits.maxWaitMs,
      send: (ready) => this.#send(request, ready),
    });
    sent.enter();
    return sent;
  }

  async refreshed({ identity }: Sent): Promise<boolean> {
    return identity !== undefined && (await this.#options.identity.refreshed(identity));
  }

  #send(request: UpstreamRequest, sent: SentRequest): void {
    try {
      const identity = this.#options.identity.current();
      if (!(identity instanceof Promise)) return this.#sendAs(identity, request, sent);
      const sending = identity.then((loaded) => this.#sendAs(loaded, request, sent));
      sending.catch((error: Error) => sent.fail(error));
    } catch (error) {
      sent.fail(error as Error);
    }
  }

  #sendAs(
    identity: ClientIdentity,
    { method, path, headers, body, isLong, upgrade }: UpstreamRequest,
    sent: SentRequest,
  ): void {
    sent.identity = identity;
    const { requests, watches } = this.#options.connections.for(identity);
    const own = this.#partOf(identity);
    sent.dispatchTo(isLong ? watches : requests, {
      method: method as Dispatcher.HttpMethod,
      path: own.path + path,
      headers: [...headers, ...own.headers],
      body,
      ...(upgrade !== undefined && { upgrade }),
    });
  }

  /** It stays the same for as long as a token. */
  #partOf(identity: ClientIdentity): OwnPart {
    if (this.#own?.identity === identity) return this.#own;
    this.#own = {
      identity,
      path: identity.server.pathname.replace(/\/$/, ''),
      // Who the request is for was decided; a user that our own kubeconfig names must not take its place.
      headers: withoutHeaders(identity.headers, (name) => name.startsWith('impersonate-')),
    };
    return this.#own;
  }
}

/** Our part of every request. */
interface OwnPart {
  readonly identity: ClientIdentity;
  readonly path: string;
  readonly headers: readonly string[];
}
