import { isIP, type LookupFunction } from 'node:net';
import { buildConnector, Client, type Dispatcher, Pool } from 'undici';
import type { ClientIdentity } from './client-identity.ts';
import type { SilenceReports } from './silence-reports.ts';

export interface ConnectionOptions {
  /** Connections for short requests. More requests than these wait. */
  readonly connections: number;
  /** Connections for watches: one each. */
  readonly watchConnections: number;
  /** Resolves host names in place of the system, and is asked about hosts that are addresses already. */
  readonly lookup?: LookupFunction;
  /** When a request got no answer, the next ones go out over new connections. */
  readonly reports?: SilenceReports;
  /** In place of the pools of undici. */
  readonly openPool?: OpenPool | undefined;
}

/** Opens the connections to an origin. None is made before the first request. */
export type OpenPool = (origin: string, options: PoolOptions) => Dispatcher;

export interface PoolOptions {
  readonly connections: number;
  /** Makes what dials, with more options for the sockets. */
  readonly connectorWith: (options: object) => buildConnector.connector;
}

/** Connections opened as one identity. */
export interface Connections {
  readonly requests: Dispatcher;
  /** Apart, because watches never give their connection back and would starve everything else. */
  readonly watches: Dispatcher;
}

/** Where a transport takes its connections from. */
export interface ConnectionSource {
  for(identity: ClientIdentity): Connections;
  /**
   * One connection for requests that must reach the same server: an L4 balancer may send two connections to two. When it
   * has ended, what follows fails. It stays with the identity that it was first used with.
   */
  single(): ConnectionSource;
  /** Cuts every connection. */
  close(): Promise<void>;
}

/** Keeps the connections of the present identity, and those of former ones until their last answer is complete. */
export class ConnectionSet implements ConnectionSource {
  readonly #options: ConnectionOptions;
  #key: string | undefined;
  #current: Connections | undefined;
  readonly #open = new Set<Connections>();
  readonly #single = new Set<Client>();
  readonly #unsubscribe: (() => void) | undefined;
  #closed = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#unsubscribe = options.reports?.subscribe(({ isNew }) => {
      if (isNew) this.#renew();
    });
  }

  for(identity: ClientIdentity): Connections {
    if (this.#closed) throw new Error('the Kubernetes client is closed');
    if (this.#current !== undefined && this.#key === identity.connectionKey) return this.#current;
    this.#renew();
    this.#key = identity.connectionKey;
    this.#current = openConnections(identity, this.#options);
    this.#open.add(this.#current);
    return this.#current;
  }

  single(): ConnectionSource {
    let client: Client | undefined;
    return {
      for: (identity) => {
        client ??= this.#openSingle(identity);
        return { requests: client, watches: client };
      },
      single: () => this.single(),
      close: async () => {
        if (client === undefined || !this.#single.delete(client)) return;
        await client.destroy();
      },
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#unsubscribe?.();
    const pools = [...this.#open].flatMap(({ requests, watches }) => [requests, watches]);
    await Promise.all([...pools, ...this.#single].map((open) => open.destroy()));
    this.#open.clear();
    this.#single.clear();
  }

  #openSingle(identity: ClientIdentity): Client {
    if (this.#closed) throw new Error('the Kubernetes client is closed');
    const connect = dialOnce(connectorOf(identity, this.#options.lookup));
    const client = new Client(identity.server.origin, { ...common, connect });
    this.#single.add(client);
    return client;
  }

  /** A request on its way ends where it is. */
  #renew(): void {
    if (this.#current !== undefined) void this.#retire(this.#current);
    this.#current = undefined;
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

const common: Client.Options = {
  allowH2: false,
  pipelining: 1,
  // The API server closes idle connections after 90 s; closing first avoids writing into a closing one.
  keepAliveTimeout: 60_000,
  keepAliveMaxTimeout: 60_000,
  // The client's own limits cover these, and undici's would cut a silent watch.
  headersTimeout: 0,
  bodyTimeout: 0,
};

function openConnections(
  identity: ClientIdentity,
  { connections, watchConnections, lookup, openPool = openUndiciPool }: ConnectionOptions,
): Connections {
  const { origin } = identity.server;
  const connectorWith = (options: object) => connectorOf(identity, lookup, options);
  return {
    requests: openPool(origin, { connections, connectorWith }),
    watches: openPool(origin, { connections: watchConnections, connectorWith }),
  };
}

const openUndiciPool: OpenPool = (origin, { connections, connectorWith }) =>
  new Pool(origin, { ...common, connections, connect: connectorWith({}) });

function connectorOf(
  { tls }: ClientIdentity,
  lookup: LookupFunction | undefined,
  options: object = {},
): buildConnector.connector {
  const shared = {
    ...{ ...tls, allowH2: false, timeout: 5_000, keepAlive: true, keepAliveInitialDelay: 30_000 },
    ...options,
  };
  if (lookup === undefined) return buildConnector(shared);
  return checkingLiterals(buildConnector({ ...shared, lookup }), lookup);
}

/** undici dials again in silence when a connection has ended, and the next request may reach another server. */
function dialOnce(connect: buildConnector.connector): buildConnector.connector {
  let dialled = false;
  return (target, callback) => {
    if (dialled)
      return callback(new Error('the connection ended between requests that belong together'), null);
    dialled = true;
    connect(target, callback);
  };
}

/** Node asks `lookup` about names only: a server named by its address would be dialled unseen. */
function checkingLiterals(
  connect: buildConnector.connector,
  lookup: LookupFunction,
): buildConnector.connector {
  return (target, callback) => {
    if (isIP(target.hostname) === 0) return connect(target, callback);
    lookup(target.hostname, { all: true }, (error) => {
      if (error === null) connect(target, callback);
      else callback(error, null);
    });
  };
}
