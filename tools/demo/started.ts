import type { ControlPlaneAccess } from '../../lab/controlplane/access.ts';
import { type ControlPlaneOptions, startControlPlane } from '../../lab/controlplane/control-plane.ts';
import { Guard } from '../../lab/controlplane/guard.ts';
import type { Binaries } from '../../lab/controlplane/versions.ts';
import { TokenIssuer } from '../../lab/provider/token-issuer.ts';

/**
 * Everything that the demo started. Each part is on record before it is there: a signal in that moment waits for it,
 * or its processes would outlive us for a while.
 */
export class Started {
  readonly #start: typeof startControlPlane;
  readonly #parts = new AsyncDisposableStack();
  readonly #ending = new AbortController();
  readonly #calls = new Set<Promise<unknown>>();

  /** `start` is another one in tests. */
  constructor(start: typeof startControlPlane = startControlPlane) {
    this.#start = start;
  }

  /** `name` is for people. @throws Error with the end of a log when a component does not start. */
  async controlPlane(
    name: string,
    binaries: Binaries,
    options: Pick<ControlPlaneOptions, 'authentication'> = {},
  ): Promise<ControlPlaneAccess> {
    const plane = await this.#keep(this.#start({ name, binaries, ...options }));
    const { signal } = this.#ending;
    return {
      ...plane,
      kubectl: async (args, options) => await this.#await(plane.kubectl(args, { ...options, signal })),
    };
  }

  /** Is aborted when all of it ends. */
  get ending(): AbortSignal {
    return this.#ending.signal;
  }

  async guard(label: string): Promise<Guard> {
    return await this.#keep(Guard.start(label));
  }

  async tokenIssuer(): Promise<TokenIssuer> {
    return await this.#keep(TokenIssuer.start());
  }

  /**
   * Ends all of it, the last started first. What kubectl is at goes before: it would wait for an API server that is gone
   * to the end of its time, and an API server that ends waits for its watches.
   */
  async end(): Promise<void> {
    this.#ending.abort();
    await this.#parts.disposeAsync();
    await Promise.allSettled(this.#calls);
  }

  async #keep<T extends { stop(): Promise<void> }>(starting: Promise<T>): Promise<T> {
    this.#parts.defer(async () => {
      const part = await starting.catch(() => undefined);
      await part?.stop();
    });
    return await starting;
  }

  async #await<T>(call: Promise<T>): Promise<T> {
    this.#calls.add(call);
    try {
      return await call;
    } finally {
      this.#calls.delete(call);
    }
  }
}
