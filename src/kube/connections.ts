import { Pool } from 'undici';
import type { Identity } from './authentication.ts';

export interface ConnectionLimits {
  /** Connections for short requests. More requests than these wait. */
  readonly connections: number;
  /** Connections for watches: one each. */
  readonly watchConnections: number;
}

/** Connections opened as one identity. */
export interface Connections {
  readonly requests: Pool;
  /** Apart, because watches never give their connection back and would starve everything else. */
  readonly watches: Pool;
}

/** Keeps the connections of the present identity, and those of former ones until their last answer is complete. */
export class ConnectionSet {
  readonly #limits: ConnectionLimits;
  #key: string | undefined;
  #current: Connections | undefined;
  readonly #open = new Set<Connections>();
  #closed = false;

  constructor(limits: ConnectionLimits) {
    this.#limits = limits;
  }

  for(identity: Identity): Connections {
    if (this.#closed) throw new Error('the Kubernetes client is closed');
    if (this.#current !== undefined && this.#key === identity.connectionKey) return this.#current;
    if (this.#current !== undefined) void this.#retire(this.#current);
    this.#key = identity.connectionKey;
    this.#current = openConnections(identity, this.#limits);
    this.#open.add(this.#current);
    return this.#current;
  }

  /** Cuts every connection. */
  async close(): Promise<void> {
    this.#closed = true;
    const pools = [...this.#open].flatMap(({ requests, watches }) => [requests, watches]);
    await Promise.all(pools.map((pool) => pool.destroy()));
    this.#open.clear();
  }

  async #retire(connections: Connections): Promise<void> {
    try {
      await Promise.all([connections.requests.close(), connections.watches.close()]);
      this.#open.delete(connections);
    } catch {
      // They were cut by close() meanwhile.
    }
  }
}

function openConnections({ server, tls }: Identity, limits: ConnectionLimits): Connections {
  const options: Pool.Options = {
    allowH2: false,
    pipelining: 1,
    // The API server closes idle connections after 90 s; closing first avoids writing into a closing one.
    keepAliveTimeout: 60_000,
    keepAliveMaxTimeout: 60_000,
    // The client's own limits cover these, and undici's would cut a silent watch.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { ...tls, timeout: 5_000, keepAlive: true, keepAliveInitialDelay: 30_000 },
  };
  return {
    requests: new Pool(server.origin, { ...options, connections: limits.connections }),
    watches: new Pool(server.origin, { ...options, connections: limits.watchConnections }),
  };
}
