import type { Clock } from '../../kube/clock.ts';
import type { TimeShareOptions } from '../turns/time-share.ts';
import type { YAMLReading } from './read-yaml.ts';
import { YAMLThread } from './yaml-thread.ts';
import { YAMLTurns, type YAMLTurnsLimits } from './yaml-turns.ts';

export interface YAMLReaderOptions extends TimeShareOptions {
  readonly clock: Clock;
  readonly limits: YAMLReaderLimits;
}

export interface YAMLReaderLimits {
  /** A longer text is a long one: characters. */
  readonly maxShort: number;
  /** For a text to come to its turn. On a busy machine those before it may take eight times as long. */
  readonly maxWaitMs: number;
  readonly short: YAMLTurnsLimits;
  readonly long: YAMLTurnsLimits;
}

/**
 * A megabyte of keys and values takes a second and 150 MB; the limit of memory of a replica has room for both threads. All that one
 * credential may send at once may wait: who is refused asks again at once, and that costs the main thread more than a line does.
 */
export const yamlLimits: YAMLReaderLimits = {
  maxShort: 8_192,
  maxWaitMs: 120_000,
  short: { maxMs: 5_000, maxHeapBytes: 64 * 2 ** 20, ofUser: 128, ofAll: 1_024 },
  long: { maxMs: 10_000, maxHeapBytes: 192 * 2 ** 20, ofUser: 128, ofAll: 512 },
};

/**
 * Reads YAML without holding up the main thread: to read a kilobyte that is made for it takes longer than hundreds of other requests.
 * Short texts have a thread and long ones another, so that none of these waits for one of those.
 */
export class YAMLReader {
  readonly #maxShort: number;
  readonly #short: YAMLTurns;
  readonly #long: YAMLTurns;

  constructor({ clock, limits, isAlone }: YAMLReaderOptions) {
    const { maxShort, maxWaitMs, short, long } = limits;
    const turns = (each: YAMLTurnsLimits) =>
      new YAMLTurns({ ...{ clock, maxWaitMs, limits: each, isAlone }, thread: new YAMLThread(clock, each) });
    this.#maxShort = maxShort;
    this.#short = turns(short);
    this.#long = turns(long);
  }

  /** Undefined: too many such texts wait, of this user or of all, or this one did for too long. */
  async read(user: string, text: string): Promise<YAMLReading | undefined> {
    return await (text.length <= this.#maxShort ? this.#short : this.#long).read(user, text);
  }
}
