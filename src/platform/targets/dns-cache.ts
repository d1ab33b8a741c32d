import type { LookupAddress } from 'node:dns';
import { backOffDelay } from '../../kube/back-off.ts';
import type { Clock } from '../../kube/clock.ts';

/**
 * The record of former look-ups of a name, for the next one. `proven`: the last was quick, and slow ones are long ago.
 * `unknown`: there was none, or it failed quickly. `suspect`: it was slow.
 */
export type Standing = 'proven' | 'unknown' | 'suspect';

export interface DnsCacheOptions {
  readonly clock: Clock;
  readonly random: () => number;
}

interface Memory {
  readonly addresses: readonly LookupAddress[] | undefined;
  readonly answeredUntil: number;
  readonly restsUntil: number;
  /** Slow look-ups, less the quick ones since. */
  readonly slowCount: number;
}

const answersLastMs = 60_000;
const slowMs = 1_000;
/** A name whose server never answers holds a look-up for half a minute each time. */
const rest = { initialMs: 10_000, maxMs: 5 * 60_000 } as const;
const maxSlowCount = 6;
/** The names that were looked up the longest ago are forgotten first. */
const maxNames = 4_096;

/** Good answers for a minute, and which names are slow to look up. */
export class DnsCache {
  readonly #options: DnsCacheOptions;
  readonly #names = new Map<string, Memory>();

  constructor(options: DnsCacheOptions) {
    this.#options = options;
  }

  answer(hostname: string): readonly LookupAddress[] | undefined {
    const memory = this.#names.get(hostname);
    if (memory === undefined || this.#options.clock.monotonic() >= memory.answeredUntil) return undefined;
    return memory.addresses;
  }

  /** Whether the name timed out so recently that it is not to be looked up yet. */
  isResting(hostname: string): boolean {
    return this.#options.clock.monotonic() < (this.#names.get(hostname)?.restsUntil ?? 0);
  }

  standing(hostname: string): Standing {
    const memory = this.#names.get(hostname);
    if (memory === undefined) return 'unknown';
    if (memory.slowCount > 0) return 'suspect';
    return memory.addresses === undefined ? 'unknown' : 'proven';
  }

  /** After a look-up. Without addresses: it failed. */
  record(hostname: string, tookMs: number, addresses?: readonly LookupAddress[]): void {
    const { clock, random } = this.#options;
    const slowCount = slowCountAfter(tookMs, this.#names.get(hostname)?.slowCount ?? 0);
    const isTimeout = addresses === undefined && tookMs >= slowMs;
    const now = clock.monotonic();
    this.#names.delete(hostname);
    this.#names.set(hostname, {
      addresses,
      answeredUntil: now + answersLastMs,
      restsUntil: isTimeout ? now + backOffDelay(slowCount - 1, { ...rest, random }) : 0,
      slowCount,
    });
    const [oldest] = this.#names.keys();
    if (this.#names.size > maxNames && oldest !== undefined) this.#names.delete(oldest);
  }
}

const slowCountAfter = (tookMs: number, before: number): number =>
  tookMs >= slowMs ? Math.min(before + 1, maxSlowCount) : Math.max(before - 1, 0);
