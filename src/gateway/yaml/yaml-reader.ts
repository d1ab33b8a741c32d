import type { Clock } from '../../kube/clock.ts';
import { UserLine } from '../turns/user-line.ts';
import type { YAMLReading } from './read-yaml.ts';
import { YAMLThread, type YAMLThreadLimits } from './yaml-thread.ts';

export interface YAMLTurnsLimits extends YAMLThreadLimits {
  /** Texts that wait or are read. */
  readonly ofUser: number;
  readonly ofAll: number;
}

export interface YAMLReaderLimits {
  /** A longer text is a long one: characters. */
  readonly maxShort: number;
  readonly short: YAMLTurnsLimits;
  readonly long: YAMLTurnsLimits;
}

/** A megabyte of keys and values takes a second and 150 MB; the limit of memory of a replica has room for both threads. */
export const yamlLimits: YAMLReaderLimits = {
  maxShort: 8_192,
  short: { maxMs: 5_000, maxHeapBytes: 64 * 2 ** 20, ofUser: 16, ofAll: 128 },
  long: { maxMs: 10_000, maxHeapBytes: 192 * 2 ** 20, ofUser: 4, ofAll: 32 },
};

/**
 * Reads YAML without holding up the main thread: to read a kilobyte that is made for it takes longer than hundreds of other requests.
 * Short texts have a thread and long ones another, so that none of these waits for one of those.
 */
export class YAMLReader {
  readonly #maxShort: number;
  readonly #short: YAMLTurns;
  readonly #long: YAMLTurns;

  constructor(clock: Clock, { maxShort, short, long }: YAMLReaderLimits) {
    this.#maxShort = maxShort;
    this.#short = new YAMLTurns(new YAMLThread(clock, short), short);
    this.#long = new YAMLTurns(new YAMLThread(clock, long), long);
  }

  /** Undefined: too many such texts wait, of this user or of all. */
  async read(user: string, text: string): Promise<YAMLReading | undefined> {
    return await (text.length <= this.#maxShort ? this.#short : this.#long).read(user, text);
  }
}

interface WaitingText {
  readonly text: string;
  readonly onRead: (reading: YAMLReading) => void;
}

/** A thread, and the line in front of it. Users take turns. */
class YAMLTurns {
  readonly #thread: YAMLThread;
  readonly #limits: YAMLTurnsLimits;
  readonly #line = new UserLine<WaitingText>();
  readonly #ofUser = new Map<string, number>();
  #ofAll = 0;
  #isReading = false;

  constructor(thread: YAMLThread, limits: YAMLTurnsLimits) {
    this.#thread = thread;
    this.#limits = limits;
  }

  async read(user: string, text: string): Promise<YAMLReading | undefined> {
    const ofUser = this.#ofUser.get(user) ?? 0;
    if (ofUser >= this.#limits.ofUser || this.#ofAll >= this.#limits.ofAll) return undefined;
    const { promise, resolve: onRead } = Promise.withResolvers<YAMLReading>();
    this.#count(user, 1);
    this.#line.add(user, { text, onRead });
    if (!this.#isReading) void this.#run();
    return await promise.finally(() => this.#count(user, -1));
  }

  async #run(): Promise<void> {
    this.#isReading = true;
    for (let next = this.#line.next(); next !== undefined; next = this.#line.next())
      next.item.onRead(await this.#thread.read(next.item.text));
    this.#isReading = false;
  }

  #count(user: string, change: number): void {
    const ofUser = (this.#ofUser.get(user) ?? 0) + change;
    this.#ofAll += change;
    if (ofUser > 0) this.#ofUser.set(user, ofUser);
    else this.#ofUser.delete(user);
  }
}
