import { once } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Identity } from '../../../lab/controlplane/certificates.ts';
import { acceptText, frameOf } from '../../builders/upgrades.ts';

const widget = (group: string, name: string) => ({
  apiVersion: `${group}/v1`,
  kind: 'Widget',
  metadata: { name, resourceVersion: '1' },
});

/**
 * An API of somebody else, behind the aggregator of the API server. Serves `widgets` of one group, without namespaces. A watch may be
 * a websocket with the key of the builders.
 */
export class WidgetServer {
  readonly #group: string;
  readonly #server: Server;
  readonly #watches = new Set<ServerResponse>();
  readonly #webSockets = new Set<Duplex>();
  /** Of each request for widgets. */
  readonly seen: IncomingHttpHeaders[] = [];

  static async start(group: string, identity: Identity): Promise<WidgetServer> {
    const server = new WidgetServer(group, identity);
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  private constructor(group: string, { certificate: cert, key }: Identity) {
    this.#group = group;
    this.#server = createServer({ cert, key }, (request, response) => this.#answer(request, response));
    this.#server.on('upgrade', (_, socket: Duplex) => {
      this.#webSockets.add(socket);
      socket
        .on('error', () => undefined)
        .once('close', () => this.#webSockets.delete(socket))
        .once('end', () => socket.end())
        .resume()
        .write(acceptText());
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get watches(): number {
    return this.#watches.size + this.#webSockets.size;
  }

  /** An event for every open watch. */
  add(name: string): void {
    const event = { type: 'ADDED', object: widget(this.#group, name) };
    for (const watch of this.#watches) watch.write(`${JSON.stringify(event)}\n`);
    for (const socket of this.#webSockets) socket.write(frameOf(JSON.stringify(event)));
  }

  async stop(): Promise<void> {
    for (const socket of this.#webSockets) socket.destroy();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'https://localhost');
    const base = `/apis/${this.#group}/v1`;
    if (pathname === base) return send(response, 200, this.#discovery());
    if (pathname !== `${base}/widgets`) return send(response, 404, { kind: 'Status', code: 404 });
    this.seen.push(request.headers);
    if (searchParams.get('watch') !== null) return this.#watch(response);
    const items = [widget(this.#group, 'first')];
    const list = { apiVersion: `${this.#group}/v1`, kind: 'WidgetList' };
    send(response, 200, { ...list, metadata: { resourceVersion: '1' }, items });
  }

  #watch(response: ServerResponse): void {
    this.#watches.add(response);
    response.once('close', () => this.#watches.delete(response));
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
  }

  #discovery(): object {
    const resource = { name: 'widgets', singularName: 'widget', namespaced: false, kind: 'Widget' };
    return {
      apiVersion: 'v1',
      kind: 'APIResourceList',
      groupVersion: `${this.#group}/v1`,
      resources: [{ ...resource, verbs: ['get', 'list', 'watch'] }],
    };
  }
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
