import { BackOff } from '../back-off.ts';
import { CutForSilence } from '../client/silence-reports.ts';
import type { Clock } from '../clock.ts';
import { KubeError } from '../kube-error.ts';
import { Outage } from '../outage.ts';
import { sleep } from '../sleep.ts';
import { retryAfterOf } from './watch-errors.ts';

export interface RetriesOptions {
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** First and longest delay after a failure. Default 200 ms and 30 s. */
  readonly backOffMs?: readonly [number, number];
}

/** A proxy before an API server may name an hour, and credentials would be unseen for as long; milliseconds. */
const maxAskedForMs = 30_000;

/** Before the next try, in milliseconds. */
interface Pause {
  readonly delayMs: number;
  /** By the server, as part of it. */
  readonly askedForMs: number;
}

/** The pauses of something that never gives up, longer after each failure, and how long it has been failing. */
export class Retries {
  readonly #clock: Clock;
  readonly #backOff: BackOff;
  readonly #resetAfterMs: number;
  readonly #outage: Outage;
  #failedAt = Number.NEGATIVE_INFINITY;
  #waiting = new AbortController();

  constructor({ clock, random, backOffMs: [initialMs, maxMs] = [200, 30_000] }: RetriesOptions) {
    this.#clock = clock;
    this.#backOff = new BackOff({ initialMs, maxMs, random });
    this.#resetAfterMs = 2 * maxMs;
    this.#outage = new Outage(clock);
  }

  failed(error: unknown): Pause {
    const now = this.#clock.monotonic();
    this.#outage.failed(error);
    // A cut has a limit of its own, and one request that hangs must not slow down every watch.
    if (isCut(error) || now - this.#failedAt > this.#resetAfterMs) this.#backOff.reset();
    this.#failedAt = now;
    const askedForMs = Math.min(1000 * (retryAfterOf(error) ?? 0), maxAskedForMs);
    return { delayMs: Math.max(this.#backOff.next(), askedForMs), askedForMs };
  }

  succeeded(): void {
    this.#outage.ended();
  }

  async wait({ delayMs, askedForMs }: Pause, signal: AbortSignal): Promise<void> {
    this.#waiting = new AbortController();
    if (askedForMs > 0) await sleep(this.#clock, askedForMs, signal);
    const leftMs = delayMs - askedForMs;
    if (leftMs > 0) await sleep(this.#clock, leftMs, AbortSignal.any([signal, this.#waiting.signal]));
  }

  /** Ends the pause, except for what the server asked for. The next ones are short again. */
  hurry(): void {
    this.#backOff.reset();
    this.#waiting.abort();
  }

  /** For a health check: how long each try has failed, and why, where that is longer than this. */
  outage(maxMs: number): string | undefined {
    return this.#outage.problem(maxMs);
  }
}

const isCut = (error: unknown): boolean => error instanceof KubeError && error.cause instanceof CutForSilence;
