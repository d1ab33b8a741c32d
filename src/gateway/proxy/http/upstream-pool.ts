import type { Socket } from 'node:net';
import { type buildConnector, Dispatcher } from 'undici';
import type { OpenPool } from '../../../kube/client/connections.ts';
import type { Clock, Timer } from '../../../kube/clock.ts';
import { UpstreamExchange } from './upstream-exchange.ts';
import { UpstreamSocket } from './upstream-socket.ts';

/** The API server closes idle connections after 90 s; closing first avoids writing into a closing one. */
const maxIdleMs = 60_000;
/** How long before a server that says so will close an idle connection. */
const marginMs = 2_000;
const sweepMs = 10_000;
/** The most that TLS hands over at once. One for all connections: what is in it is read or copied before the call returns. */
const readBuffer = Buffer.allocUnsafeSlow(16_384);

/** Opens pools of connections that do nothing but pass requests on, which costs less than half of what a client does. */
export const openUpstreamPools =
  (clock: Clock): OpenPool =>
  (origin, { connectorWith }) =>
    new UpstreamPool(new URL(origin), clock, connectorWith);

/** For the connections to all targets. */
export const upstreamConnections = (
  { connections, longConnections }: { readonly connections: number; readonly longConnections: number },
  clock: Clock,
) => ({ connections, watchConnections: longConnections, openPool: openUpstreamPools(clock) });

/**
 * Connections to one server. It has as many as there are requests under way: those who send requests limit how many.
 * A request gets a connection that is free, or a new one.
 */
export class UpstreamPool extends Dispatcher {
  readonly #target: buildConnector.Options & { readonly host: string };
  readonly #clock: Clock;
  readonly #connect: buildConnector.connector;
  readonly #sockets = new WeakMap<Socket, UpstreamSocket>();
  readonly #open = new Set<UpstreamSocket>();
  /** The last one is used first, so that those that are not needed grow old. */
  readonly #free: UpstreamSocket[] = [];
  readonly #dialling = new Set<UpstreamExchange>();
  #due: { readonly connection: UpstreamSocket; readonly exchange: UpstreamExchange }[] = [];
  #contents: UpstreamSocket[] = [];
  #isScheduled = false;
  #sweep: Timer | undefined;
  #isClosed = false;
  readonly #emptied = Promise.withResolvers<void>();

  constructor(
    { protocol, host, hostname, port }: URL,
    clock: Clock,
    connectorWith: (options: object) => buildConnector.connector,
  ) {
    super();
    this.#target = { protocol, host, hostname: hostname.replace(/^\[|\]$/g, ''), port };
    this.#clock = clock;
    const sockets = this.#sockets;
    function callback(this: Socket, length: number): boolean {
      sockets.get(this)?.read(readBuffer.subarray(0, length));
      return true;
    }
    this.#connect = connectorWith({ onread: { buffer: readBuffer, callback } });
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    this.#carry(new UpstreamExchange(options, handler));
    return true;
  }

  /** Lets what is under way end. */
  override async close(): Promise<void> {
    this.#isClosed = true;
    this.#sweep?.cancel();
    for (const connection of this.#free.splice(0)) connection.abort(closed);
    this.#checkEmpty();
    await this.#emptied.promise;
  }

  /** Cuts every connection. */
  override async destroy(): Promise<void> {
    this.#isClosed = true;
    this.#sweep?.cancel();
    for (const { exchange } of this.#due) exchange.fail(closed);
    for (const exchange of this.#dialling) exchange.fail(closed);
    for (const connection of [...this.#open]) connection.abort(closed);
  }

  #carry(exchange: UpstreamExchange): void {
    if (this.#isClosed) return exchange.fail(closed);
    // A request for another protocol gets a connection that no one had before, and no one gets it afterwards.
    const connection = exchange.options.upgrade ? undefined : this.#takeFree();
    if (connection === undefined) return this.#dial(exchange);
    // Bytes or an end that arrived while it was free are seen first: they would be taken for the answer.
    this.#due.push({ connection, exchange });
    this.#schedule();
  }

  #takeFree(): UpstreamSocket | undefined {
    const now = this.#clock.monotonic();
    for (let connection = this.#free.pop(); connection !== undefined; connection = this.#free.pop()) {
      if (connection.freeUntil > now) return connection;
      connection.abort(closed);
    }
    return undefined;
  }

  /** Once for all that happens until everything that has arrived is read. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#carryOn());
  }

  #carryOn(): void {
    const [due, contents] = [this.#due, this.#contents];
    this.#due = [];
    this.#contents = [];
    this.#isScheduled = false;
    for (const connection of contents) connection.flush();
    for (const { connection, exchange } of due) {
      if (exchange.isOver) connection.abort(closed);
      else if (connection.isOpen) connection.carry(exchange);
      else this.#carry(exchange);
    }
  }

  #dial(exchange: UpstreamExchange): void {
    this.#dialling.add(exchange);
    try {
      this.#connect(this.#target, (error, socket) => this.#onDialled(exchange, error ?? socket));
    } catch (error) {
      // A certificate or key that no one can read.
      this.#onDialled(exchange, error as Error);
    }
  }

  #onDialled(exchange: UpstreamExchange, result: Error | Socket): void {
    this.#dialling.delete(exchange);
    if (result instanceof Error) exchange.fail(result);
    else if (exchange.isOver) result.destroy();
    else this.#admit(result).carry(exchange);
    this.#checkEmpty();
  }

  #admit(socket: Socket): UpstreamSocket {
    const connection = new UpstreamSocket(socket, this.#target.host, {
      onFree: () => this.#onFree(connection),
      onContent: () => {
        this.#contents.push(connection);
        this.#schedule();
      },
      onClose: () => this.#onClose(connection),
    });
    this.#sockets.set(socket, connection);
    this.#open.add(connection);
    return connection;
  }

  #onFree(connection: UpstreamSocket): void {
    if (this.#isClosed || connection.isForUpgrade) return connection.abort(closed);
    const { keepAlive = Number.POSITIVE_INFINITY } = connection;
    const idleMs = Math.min(maxIdleMs, keepAlive * 1_000 - marginMs);
    if (idleMs <= 0) return connection.abort(closed);
    connection.freeUntil = this.#clock.monotonic() + idleMs;
    this.#free.push(connection);
    this.#sweep ??= this.#clock.setTimer(() => this.#closeIdle(), sweepMs);
  }

  #onClose(connection: UpstreamSocket): void {
    this.#open.delete(connection);
    const index = this.#free.indexOf(connection);
    if (index !== -1) this.#free.splice(index, 1);
    this.#checkEmpty();
  }

  #closeIdle(): void {
    this.#sweep = undefined;
    const now = this.#clock.monotonic();
    for (const connection of this.#free) if (connection.freeUntil <= now) connection.abort(closed);
    if (this.#free.length > 0) this.#sweep = this.#clock.setTimer(() => this.#closeIdle(), sweepMs);
  }

  #checkEmpty(): void {
    if (this.#isClosed && this.#open.size === 0 && this.#dialling.size === 0) this.#emptied.resolve();
  }
}

const closed = new Error('the connections to the server are closed');
