import type { Clock } from '../clock.ts';
import { isNewerVersion } from '../object.ts';

/** The state that the server has announced. */
export interface ServerState {
  /** Monotonic milliseconds: it is at least as new as this. */
  readonly since: number;
  readonly resourceVersion: string;
}

/**
 * How old what a reflector holds is. What a server says it knows proves nothing of what it sends: it counts once as much has come.
 */
export class Freshness {
  readonly #clock: Clock;
  #hasSynced = false;
  #proof = Number.NEGATIVE_INFINITY;
  #awaited: ServerState | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** Milliseconds; infinite before the first sync and while nothing proved it. */
  get ageMs(): number {
    return this.#hasSynced ? this.#clock.monotonic() - this.#proof : Number.POSITIVE_INFINITY;
  }

  /** The store has held everything at one moment. */
  listed(): void {
    this.#hasSynced = true;
  }

  /** All that had happened by this monotonic time is known. */
  prove(since: number): void {
    this.#proof = Math.max(this.#proof, since);
  }

  /** From now on the store is as new as this once it has come as far. */
  expect(state: ServerState): void {
    this.#awaited = state;
  }

  /** The version that the server was to send, and did not send so far. */
  get isAwaiting(): boolean {
    return this.#awaited !== undefined;
  }

  /** All up to this resourceVersion has come. True where that is all that was awaited. */
  reached(resourceVersion: string): boolean {
    const awaited = this.#awaited;
    if (awaited === undefined || isNewerVersion(awaited.resourceVersion, resourceVersion)) return false;
    this.#awaited = undefined;
    this.prove(awaited.since);
    return true;
  }
}
