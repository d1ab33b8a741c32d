import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Endpoint } from './endpoints.ts';
import type { TunnelCommand, TunnelFindings, TunnelOrder } from './tunnel-process.ts';

const program = fileURLToPath(new URL('./tunnel-process.ts', import.meta.url));

/** The asked-for websockets. */
export interface Asked {
  /** As the API server serves it. */
  readonly path: string;
  /** Bearer strings that are sent in turn, in place of those of the endpoint. */
  readonly bearers?: readonly string[];
  /** Default: one. */
  readonly atOnce?: number;
  readonly protocol?: string;
}

/** Websockets that a process of its own opens. */
export class Tunnels {
  readonly #child: ChildProcess;
  readonly #endpoint: Endpoint;

  static start(endpoint: Endpoint): Tunnels {
    return new Tunnels(fork(program), endpoint);
  }

  private constructor(child: ChildProcess, endpoint: Endpoint) {
    this.#child = child;
    this.#endpoint = endpoint;
  }

  async open(asked: Asked, count: number): Promise<TunnelFindings> {
    return await this.#do({ do: 'open', order: this.#order(asked), count });
  }

  /** Opens and leaves them, again and again. */
  async churn(asked: Asked, seconds: number): Promise<TunnelFindings> {
    return await this.#do({ do: 'churn', order: this.#order(asked), seconds });
  }

  /** Counts the bytes that come. */
  async count(seconds: number): Promise<TunnelFindings> {
    return await this.#do({ do: 'count', seconds });
  }

  /** Waits until the other side has closed all. */
  async closed(): Promise<TunnelFindings> {
    return await this.#do({ do: 'wait' });
  }

  async leave(): Promise<void> {
    await this.#do({ do: 'leave' });
  }

  /** Ends the process, and with it all that is open. */
  end(): void {
    if (this.#child.connected) this.#child.disconnect();
  }

  #order({ path, bearers, atOnce = 1, protocol }: Asked): TunnelOrder {
    const { hostname: host, port, pathname } = new URL(this.#endpoint.url);
    const before = pathname === '/' ? '' : pathname;
    const offered = protocol === undefined ? {} : { 'Sec-WebSocket-Protocol': protocol };
    const identities = bearers?.map((bearer) => ({ Authorization: `Bearer ${bearer}` })) ?? [
      this.#endpoint.headers(0),
    ];
    const requests = identities.map((headers) => ({
      path: before + path,
      headers: { ...headers, ...offered },
    }));
    return { host, port: Number(port), requests, atOnce };
  }

  async #do(command: TunnelCommand): Promise<TunnelFindings> {
    const answered = once(this.#child, 'message');
    this.#child.send(command);
    const [found] = (await answered) as [TunnelFindings];
    if (found.error !== undefined) throw new Error(`${this.#endpoint.name}: ${found.error}`);
    return found;
  }
}
