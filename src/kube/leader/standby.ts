import type { Logger } from '../../logger.ts';
import type { KubeClient } from '../client/client.ts';
import type { Clock } from '../clock.ts';
import { sleep } from '../sleep.ts';
import type { Lease } from './lease.ts';
import type { HeldByOther, LeaseLock } from './lease-lock.ts';
import { type WatchEnd, watchLease } from './lease-watch.ts';

export interface StandbyOptions {
  readonly client: Pick<KubeClient, 'watch'>;
  readonly namespace: string;
  readonly name: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** Of the holder. */
  readonly renewPeriodMs: number;
}

/**
 * Waits for the lease of another. A watch brings its renewals, so nothing is asked while it is renewed, and a lease that is
 * given back is known at once. What the watch does not bring, because it has died unnoticed or is refused, is asked for.
 */
export class Standby {
  readonly #options: StandbyOptions;
  readonly #lock: LeaseLock;
  readonly #onNews: () => void;

  constructor(options: StandbyOptions, lock: LeaseLock, onNews: () => void) {
    this.#options = options;
    this.#lock = lock;
    this.#onNews = onNews;
  }

  /** Resolves when it is time to ask for the lease again. Without an answer to the last attempt, or a lease, that is after `retryMs`. */
  async wait(attempt: HeldByOther | undefined, retryMs: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const { resourceVersion } = this.#lock;
    const freeInMs = attempt?.freeInMs ?? Number.POSITIVE_INFINITY;
    if (attempt === undefined || resourceVersion === undefined)
      return await sleep(clock, Math.min(retryMs, freeInMs), signal);
    const opened = clock.monotonic();
    if ((await this.#watch(resourceVersion, freeInMs, signal)) !== 'ended') return;
    // One that ends at once each time is no better than asking.
    const leftMs = opened + this.#maxSilenceMs(freeInMs) - clock.monotonic();
    await sleep(clock, Math.min(leftMs, this.#lock.freeInMs()), signal);
  }

  async #watch(resourceVersion: string, freeInMs: number, signal: AbortSignal): Promise<WatchEnd> {
    let nextFreeInMs = freeInMs;
    const onLease = (lease: Lease): boolean => {
      this.#lock.observe(lease);
      this.#onNews();
      nextFreeInMs = this.#lock.freeInMs();
      return nextFreeInMs === 0;
    };
    const maxSilenceMs = () => this.#maxSilenceMs(nextFreeInMs);
    try {
      return await watchLease({ ...this.#options, resourceVersion, signal, maxSilenceMs, onLease });
    } catch (error) {
      this.#options.log.info({ err: error }, 'the lease cannot be watched, so it is asked for');
      return 'ended';
    }
  }

  /** The holder, or the watch, may have died. */
  #maxSilenceMs(freeInMs: number): number {
    return Math.min(2 * this.#options.renewPeriodMs, freeInMs);
  }
}
