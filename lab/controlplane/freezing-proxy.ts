import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { HeldStreams } from './held-streams.ts';

interface Link {
  readonly client: Socket;
  readonly etcd: Socket;
  readonly answers: HeldStreams;
}

/** Passes connections to one Unix socket on to that of etcd. Goes wrong as a network or an etcd may. */
export class FreezingProxy {
  readonly #to: string;
  readonly #server: Server;
  readonly #links = new Set<Link>();
  #isFrozen = false;

  static async start(from: string, to: string): Promise<FreezingProxy> {
    const proxy = new FreezingProxy(to);
    proxy.#server.listen(from);
    await once(proxy.#server, 'listening');
    return proxy;
  }

  private constructor(to: string) {
    this.#to = to;
    this.#server = createServer({ allowHalfOpen: true }, (client) => this.#open(client));
  }

  /** Everything is swallowed: nothing passes, nothing ends, and new connections open without an answer. */
  freeze(): void {
    this.#isFrozen = true;
    for (const socket of this.#sockets) socket.pause();
  }

  /** Open watches bring nothing more; requests are answered. */
  holdWatches(): void {
    for (const { answers } of this.#links) answers.hold();
  }

  /** Delivers what was under way. */
  thaw(): void {
    this.#isFrozen = false;
    for (const { client, answers } of this.#links) client.write(answers.release());
    for (const socket of this.#sockets) socket.resume();
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    if (this.#server.listening) await new Promise((resolve) => this.#server.close(resolve));
  }

  get #sockets(): Socket[] {
    return [...this.#links].flatMap(({ client, etcd }) => [client, etcd]);
  }

  #open(client: Socket): void {
    const etcd = connect({ path: this.#to, allowHalfOpen: true });
    const answers = new HeldStreams();
    const link = { client, etcd, answers };
    this.#links.add(link);
    this.#pass(client, etcd, (chunk) => chunk);
    this.#pass(etcd, client, (chunk) => answers.push(chunk));
    client.on('close', () => this.#links.delete(link));
  }

  #pass(from: Socket, to: Socket, through: (chunk: Buffer) => Buffer): void {
    from.on('data', (chunk: Buffer) => void (to.write(through(chunk)) || from.pause()));
    to.on('drain', () => void (this.#isFrozen || from.resume()));
    from.on('end', () => to.end());
    from.on('error', () => to.destroy());
    from.on('close', () => to.destroy());
    if (this.#isFrozen) from.pause();
  }
}
