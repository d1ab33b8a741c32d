import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** One address in front of several servers, as that of a balancer: each connection goes to the server of its time. */
export class SwitchedAddress {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #open = new Map<Socket, number>();
  #target: number;

  static async start(port: number): Promise<SwitchedAddress> {
    const address = new SwitchedAddress(port);
    address.#server.listen(0, '127.0.0.1');
    await once(address.#server, 'listening');
    return address;
  }

  private constructor(port: number) {
    this.#target = port;
    this.#server = createServer((client) => this.#accept(client));
  }

  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** New connections go to this port. */
  lead(port: number): void {
    this.#target = port;
  }

  /** All connections to servers so far are lost. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** How many connections go to this port now. */
  connectionsTo(port: number): number {
    return [...this.#open.values()].filter((each) => each === port).length;
  }

  async stop(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #accept(client: Socket): void {
    const server = connect(this.#target, '127.0.0.1');
    this.#open.set(client, this.#target);
    client.once('close', () => this.#open.delete(client));
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  }
}
