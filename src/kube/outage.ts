import type { Clock } from './clock.ts';
import { KubeError } from './kube-error.ts';

/** Since when something that is tried again and again has not succeeded. */
export class Outage {
  readonly #clock: Clock;
  #since: number | undefined;
  #error: unknown;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A try begins. One that hangs counts like one that fails. */
  began(): void {
    this.#since ??= this.#clock.monotonic();
  }

  failed(error: unknown): void {
    this.began();
    this.#error = error;
  }

  /** A try has succeeded. Returns for how many milliseconds none had; 0 when none before it had failed. */
  ended(): number {
    const lasted = this.#error === undefined ? 0 : this.#clock.monotonic() - (this.#since ?? 0);
    this.#since = undefined;
    this.#error = undefined;
    return lasted;
  }

  /** For a health check: how long it has lasted, and why; undefined until it has lasted longer than this. */
  problem(maxMs: number): string | undefined {
    if (this.#since === undefined) return undefined;
    const ms = this.#clock.monotonic() - this.#since;
    return ms > maxMs ? `for ${Math.round(ms / 1000)} s (${reasonOf(this.#error)})` : undefined;
  }
}

/** Probes may be read by anyone on the network: no message, which may name addresses. */
function reasonOf(error: unknown): string {
  if (error === undefined) return 'no answer yet';
  if (error instanceof KubeError && error.status > 0)
    return `${error.status} ${/^\w{1,64}$/.exec(error.reason)?.[0] ?? ''}`.trimEnd();
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' ? code : 'an unexpected error';
}
