import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { buildConnector, type Dispatcher } from 'undici';
import { UpstreamPool } from '../../src/gateway/proxy/http/upstream-pool.ts';
import { FakeClock } from '../fakes/fake-clock.ts';

const servers: Server[] = [];
const pools: UpstreamPool[] = [];

/** For after each test. */
export async function stopPools(): Promise<void> {
  await Promise.all(pools.splice(0).map((pool) => pool.destroy()));
  for (const server of servers.splice(0)) server.close();
}

export const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

/** Acts as the server whenever bytes arrive. */
export type ServerBehaviour = (socket: Socket, text: string) => unknown;

/** A pool to a server, with what that received. */
export async function startPool(behaviour: ServerBehaviour = (socket) => socket.write(ok)) {
  const sockets: Socket[] = [];
  const seen: string[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket
      .on('error', () => undefined)
      .on('data', (bytes) => {
        seen.push(bytes.toString('latin1'));
        behaviour(socket, bytes.toString('latin1'));
      });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  servers.push(server);
  const clock = new FakeClock();
  const origin = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const pool = new UpstreamPool(origin, clock, (options) => buildConnector({ ...options, allowH2: false }));
  pools.push(pool);
  return { pool, clock, server, sockets, seen };
}

/** The outcome of a request. */
export class Outcome implements Dispatcher.DispatchHandler {
  status = 0;
  headers: Readonly<Record<string, unknown>> = {};
  body = '';
  error: Error | undefined;
  controller: Dispatcher.DispatchController | undefined;
  readonly #over = Promise.withResolvers<void>();
  readonly over = this.#over.promise;
  isOver = false;

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
  }
  onResponseStart(_: unknown, status: number, headers: Readonly<Record<string, unknown>>): void {
    this.status = status;
    this.headers = headers;
  }
  onResponseData(_: unknown, chunk: Buffer): void {
    this.body += chunk.toString('latin1');
  }
  onResponseEnd(): void {
    this.#end();
  }
  onResponseError(_: unknown, error: Error): void {
    this.error = error;
    this.#end();
  }
  #end(): void {
    this.isOver = true;
    this.#over.resolve();
  }
}

export const get: Dispatcher.DispatchOptions = { method: 'GET', path: '/', headers: [], body: null };

export function send(pool: Dispatcher, options: Partial<Dispatcher.DispatchOptions> = {}): Outcome {
  const outcome = new Outcome();
  pool.dispatch({ ...get, ...options }, outcome);
  return outcome;
}

export async function exchange(pool: Dispatcher, options: Partial<Dispatcher.DispatchOptions> = {}) {
  const outcome = send(pool, options);
  await outcome.over;
  return outcome;
}
