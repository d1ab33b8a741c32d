import type { Socket } from 'node:net';
import { sourceOf } from '../../cidr.ts';
import type { Clock } from '../../kube/clock.ts';
import { type Linked, LinkedList } from '../../linked-list.ts';
import type { TrustedProxies } from './trusted-proxies.ts';

export interface ConnectionLimits {
  readonly connections: number;
  /** Kept for one user. Default: a quarter of all. */
  readonly perUser?: number;
  /** Of connections that have carried no live credential yet, from one source address. 0: no limit. */
  readonly strangersPerAddress: number;
  /** For each new connection to show a credential, before others may take its place. */
  readonly strangerGraceMs: number;
}

/** Which limit a connection was closed by: that of all connections, or that of its source address. */
export type ExceededLimit = 'all' | 'address';

export interface ConnectionsOptions {
  readonly limits: ConnectionLimits;
  readonly clock: Clock;
  readonly onClosed: (limit: ExceededLimit) => void;
  /** Their connections carry the requests of many clients, so they are not counted by source address. */
  readonly proxies: Pick<TrustedProxies, 'has'>;
}

type SocketAddress = Pick<Socket, 'remoteAddress' | 'remotePort' | 'localAddress'>;

/**
 * The open connections. Each begins as a stranger. When there are too many, the oldest stranger goes, so that strangers can fill
 * the server but keep no one out.
 */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #open = new Map<string, Connection>();
  readonly #strangers = new LinkedList<Entry>();
  readonly #sources = new Map<string, Source>();
  readonly #users = new Map<string, number>();
  /** Sockets for which nothing is left to do. Behind TLS they are others than those that were added. */
  readonly #known = new WeakSet<SocketAddress>();
  #count = 0;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  add(socket: Socket): void {
    const { clock, limits } = this.#options;
    const { remoteAddress } = socket;
    // It has ended already.
    if (remoteAddress === undefined) return void socket.destroy();
    const connection = new Connection(socket, remoteAddress, clock.monotonic());
    this.#open.set(connection.key, connection);
    this.#count += 1;
    this.#strangers.append(connection.ofAll);
    socket.once('close', () => this.#remove(connection));
    this.#countBySource(connection);
    if (this.#count > limits.connections) this.#makeRoom(this.#strangers, connection, 'all');
  }

  /** A proxy has said that the connection is that of a client with this address. */
  declare(socket: Socket, address: string): void {
    const connection = this.#open.get(keyOf(socket));
    if (connection?.socket !== socket) return;
    connection.address = address;
    this.#countBySource(connection);
  }

  /** The address of the peer, or of the client that a proxy has named. */
  addressOf(socket: SocketAddress): string {
    return this.#open.get(keyOf(socket))?.address ?? socket.remoteAddress ?? 'unknown';
  }

  /**
   * For every request with a live credential: from now on the connection is no stranger. One user may keep a quarter of all
   * connections; more of them stay strangers, because with them one user could keep everyone else out.
   */
  authenticated(socket: SocketAddress, user: string): void {
    if (this.#known.has(socket)) return;
    const connection = this.#open.get(keyOf(socket));
    if (connection === undefined || connection.user !== undefined) return;
    const kept = this.#users.get(user) ?? 0;
    const { connections, perUser = Math.max(1, Math.floor(connections / 4)) } = this.#options.limits;
    if (kept >= perUser) return;
    this.#known.add(socket);
    this.#removeStranger(connection);
    connection.user = user;
    this.#users.set(user, kept + 1);
  }

  /** The one below a socket of TLS. */
  find(socket: SocketAddress): Socket | undefined {
    return this.#open.get(keyOf(socket))?.socket;
  }

  /** The oldest goes, or the new one when all are young: they need the time of a handshake, or no one gets through a rush. */
  #makeRoom(strangers: LinkedList<Entry>, added: Connection, limit: ExceededLimit): void {
    const { clock, limits, onClosed } = this.#options;
    const oldest = strangers.first?.connection;
    const isOld = oldest !== undefined && clock.monotonic() - oldest.since >= limits.strangerGraceMs;
    const gone = isOld ? oldest : added;
    this.#remove(gone);
    gone.socket.destroy();
    onClosed(limit);
  }

  #remove(connection: Connection): void {
    if (connection.isGone) return;
    connection.isGone = true;
    this.#count -= 1;
    if (this.#open.get(connection.key) === connection) this.#open.delete(connection.key);
    const { user } = connection;
    if (user === undefined) return this.#removeStranger(connection);
    const kept = (this.#users.get(user) ?? 0) - 1;
    if (kept > 0) this.#users.set(user, kept);
    else this.#users.delete(user);
  }

  #countBySource(connection: Connection): void {
    const { limits, proxies } = this.#options;
    const { address } = connection;
    if (connection.source !== undefined || proxies.has(address)) return;
    connection.source = sourceOf(address);
    const source = this.#sources.get(connection.source) ?? new Source();
    this.#sources.set(connection.source, source);
    source.count += 1;
    source.strangers.append(connection.ofSource);
    const max = limits.strangersPerAddress;
    if (max > 0 && source.count > max) this.#makeRoom(source.strangers, connection, 'address');
  }

  #removeStranger(connection: Connection): void {
    this.#strangers.remove(connection.ofAll);
    const source = connection.source === undefined ? undefined : this.#sources.get(connection.source);
    if (source === undefined || connection.source === undefined) return;
    source.count -= 1;
    source.strangers.remove(connection.ofSource);
    if (source.count === 0) this.#sources.delete(connection.source);
  }
}

class Connection {
  readonly socket: Socket;
  /** Of the peer; of the client as soon as a proxy names it. */
  address: string;
  /** The network that it counts for. Undefined: a trusted proxy has not named its client. */
  source: string | undefined;
  readonly since: number;
  readonly key: string;
  readonly ofAll = new Entry(this);
  readonly ofSource = new Entry(this);
  /** Who keeps it. Undefined for a stranger. */
  user: string | undefined;
  isGone = false;

  constructor(socket: Socket, address: string, since: number) {
    this.socket = socket;
    this.address = address;
    this.since = since;
    this.key = keyOf(socket);
  }
}

class Entry implements Linked<Entry> {
  readonly connection: Connection;
  previous: Entry | undefined;
  next: Entry | undefined;

  constructor(connection: Connection) {
    this.connection = connection;
  }
}

/** The strangers of one source. */
class Source {
  count = 0;
  readonly strangers = new LinkedList<Entry>();
}

/** Tells connections apart, and is the same for the TLS socket on top. */
const keyOf = ({ remoteAddress, remotePort, localAddress }: SocketAddress): string =>
  `${remoteAddress} ${remotePort} ${localAddress}`;
