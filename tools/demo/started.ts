import type { ControlPlaneAccess } from '../../test/controlplane/access.ts';
import { startControlPlane } from '../../test/controlplane/control-plane.ts';
import { Guard } from '../../test/controlplane/guard.ts';
import type { Binaries } from '../../test/controlplane/versions.ts';

/**
 * Everything that the demo started. Each part is on record before it is there: a signal in that moment waits for it,
 * or its processes would outlive us for a while.
 */
export class Started {
  readonly #parts = new AsyncDisposableStack();
  readonly #calls = new Set<Promise<unknown>>();

  /** `name` is for people. @throws Error with the end of a log when a component does not start. */
  async controlPlane(name: string, binaries: Binaries): Promise<ControlPlaneAccess> {
    const plane = await this.#keep(startControlPlane({ name, binaries }));
    return { ...plane, kubectl: async (...call) => await this.#await(plane.kubectl(...call)) };
  }

  async guard(label: string): Promise<Guard> {
    return await this.#keep(Guard.start(label));
  }

  /** Ends all of it, the last started first. kubectl ends by itself once the API server is gone. */
  async end(): Promise<void> {
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
