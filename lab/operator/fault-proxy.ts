import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import type { ControlPlaneAccess } from '../controlplane/access.ts';
import { writeKubeconfig } from '../controlplane/kubeconfig.ts';

interface Link {
  readonly client: Socket;
  readonly server: Socket;
  /** Sockets of the two that are not read (any more). */
  readonly silent: Set<Socket>;
  /** Bytes from the server. */
  answered: number;
}

interface Throttle {
  readonly bytesPerSecond: number;
}

/**
 * The network between a program and an API server, and what goes wrong there. TLS passes through, so it knows of no
 * requests: see `WriteGate`.
 */
export class FaultProxy {
  /** The control plane as it is seen through the proxy: kubeconfigs with a token lead through it. */
  readonly access: ControlPlaneAccess;
  readonly #target: URL;
  readonly #server: Server;
  readonly #port: number;
  readonly #links = new Set<Link>();
  #fault: 'none' | 'blackhole' | 'answers-lost' = 'none';
  #throttle: Throttle | undefined;
  #cutAfter = Number.POSITIVE_INFINITY;
  /** Connections that were cut in the middle of an answer. */
  cuts = 0;
  /** Connections that were accepted. */
  accepted = 0;

  static async start(plane: ControlPlaneAccess): Promise<FaultProxy> {
    const server = createServer({ allowHalfOpen: true });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new FaultProxy(plane, server);
  }

  private constructor(plane: ControlPlaneAccess, server: Server) {
    this.#port = (server.address() as AddressInfo).port;
    const target = { ...plane, server: `https://127.0.0.1:${this.#port}` };
    this.access = {
      ...target,
      kubeconfigWithToken: async (user, token) => await writeKubeconfig(target, user, { token }),
    };
    this.#target = new URL(plane.server);
    this.#server = server;
    server.on('connection', (client: Socket) => this.#open(client));
  }

  /** Nothing passes and nothing ends, on open connections and on new ones. */
  blackhole(): void {
    this.#fault = 'blackhole';
    for (const link of this.#links) silence(link, [link.client, link.server]);
  }

  /** Requests arrive, answers do not, on open connections and on new ones. */
  loseAnswers(): void {
    this.#fault = 'answers-lost';
    for (const link of this.#links) silence(link, [link.server]);
  }

  /** As a balancer whose backend has gone: nothing passes on the open connections, and new ones work. */
  loseBackend(): void {
    for (const link of this.#links) silence(link, [link.client, link.server]);
  }

  /** Answers come no faster than that, on each connection. */
  throttle(bytesPerSecond: number): void {
    this.#throttle = { bytesPerSecond };
  }

  /** Each connection is cut once so many bytes have come over it, wherever in a line or a record that is. */
  cutInMidLine(bytes: number): void {
    this.#cutAfter = bytes;
    for (const link of this.#links) link.answered = 0;
  }

  /** Open connections are cut, and new ones are refused. */
  async refuse(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#cut();
    await closed;
  }

  /** All is well. What was on its way arrives now. */
  async heal(): Promise<void> {
    this.#fault = 'none';
    this.#throttle = undefined;
    this.#cutAfter = Number.POSITIVE_INFINITY;
    for (const { client, server, silent } of this.#links) {
      silent.clear();
      client.resume();
      server.resume();
    }
    if (this.#server.listening) return;
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  async close(): Promise<void> {
    if (this.#server.listening) await this.refuse();
  }

  #onAnswer(link: Link, bytes: number): void {
    link.answered += bytes;
    if (this.#throttle !== undefined && this.#fault === 'none')
      this.#pauseFor(link, (1_000 * bytes) / this.#throttle.bytesPerSecond);
    if (link.answered < this.#cutAfter) return;
    this.cuts += 1;
    for (const socket of [link.client, link.server]) socket.destroy();
  }

  /** A fault that comes meanwhile stays. */
  #pauseFor({ server, silent }: Link, ms: number): void {
    silent.add(server);
    server.pause();
    setTimeout(() => {
      if (this.#fault !== 'none') return;
      silent.delete(server);
      server.resume();
    }, ms).unref();
  }

  #cut(): void {
    for (const { client, server } of this.#links) for (const socket of [client, server]) socket.destroy();
  }

  #open(client: Socket): void {
    this.accepted += 1;
    const server = connect({
      host: this.#target.hostname,
      port: Number(this.#target.port),
      allowHalfOpen: true,
    });
    const link: Link = { client, server, silent: new Set<Socket>(), answered: 0 };
    this.#links.add(link);
    pass(link, client, server);
    pass(link, server, client);
    server.on('data', (chunk: Buffer) => this.#onAnswer(link, chunk.length));
    client.on('close', () => this.#links.delete(link));
    if (this.#fault === 'blackhole') silence(link, [client, server]);
    if (this.#fault === 'answers-lost') silence(link, [server]);
  }
}

function silence({ silent }: Link, sockets: readonly Socket[]): void {
  for (const socket of sockets) {
    silent.add(socket);
    socket.pause();
  }
}

function pass({ silent }: Link, from: Socket, to: Socket): void {
  from.on('data', (chunk: Buffer) => void (to.write(chunk) || from.pause()));
  to.on('drain', () => void (silent.has(from) || from.resume()));
  from.on('end', () => to.end());
  from.on('error', () => to.destroy());
  from.on('close', () => to.destroy());
}
