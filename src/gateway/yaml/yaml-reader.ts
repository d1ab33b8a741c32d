import type { Clock } from '../../kube/clock.ts';
import { readYAML, type YAMLReading } from './read-yaml.ts';
import { readInThread, type YAMLThreadLimits } from './yaml-thread.ts';

export interface YAMLReaderLimits extends YAMLThreadLimits {
  /** What is longer is read in a thread: characters. */
  readonly maxHere: number;
  /** Long texts of one user that wait or are read. */
  readonly ofUser: number;
  readonly ofAll: number;
}

/** A megabyte of keys and values takes a second and 150 MB; the limit of memory of a replica has room for it. */
export const yamlLimits: YAMLReaderLimits = {
  maxHere: 4_096,
  maxMs: 15_000,
  maxHeapBytes: 192 * 2 ** 20,
  ofUser: 4,
  ofAll: 32,
};

type Turn = () => Promise<void>;

/**
 * Reads YAML without holding up anyone for long. To read a megabyte takes a second, and one that is made for it minutes, while JSON
 * takes milliseconds. So what is not short is read in a thread, one at a time, and users take turns.
 */
export class YAMLReader {
  readonly #clock: Clock;
  readonly #limits: YAMLReaderLimits;
  /** Of users, in the order in which they come next. */
  readonly #waiting = new Map<string, Turn[]>();
  readonly #ofUser = new Map<string, number>();
  #ofAll = 0;
  #isReading = false;

  constructor(clock: Clock, limits: YAMLReaderLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Undefined: too many long texts wait, of this user or of all. */
  async read(user: string, text: string): Promise<YAMLReading | undefined> {
    if (text.length <= this.#limits.maxHere) return readYAML(text);
    const ofUser = this.#ofUser.get(user) ?? 0;
    if (ofUser >= this.#limits.ofUser || this.#ofAll >= this.#limits.ofAll) return undefined;
    this.#count(user, 1);
    try {
      return await this.#inTurn(user, async () => await readInThread(text, this.#limits, this.#clock));
    } finally {
      this.#count(user, -1);
    }
  }

  async #inTurn<T>(user: string, work: () => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const turns = this.#waiting.get(user) ?? [];
    turns.push(async () => await work().then(resolve, reject));
    this.#waiting.set(user, turns);
    if (!this.#isReading) void this.#run();
    return await promise;
  }

  async #run(): Promise<void> {
    this.#isReading = true;
    while (await this.#takeTurn());
    this.#isReading = false;
  }

  /** Of the user who waits longest since their last turn. False: no one waits. */
  async #takeTurn(): Promise<boolean> {
    const [next] = this.#waiting;
    if (next === undefined) return false;
    const [user, [turn, ...more]] = next;
    this.#waiting.delete(user);
    if (more.length > 0) this.#waiting.set(user, more);
    await turn?.();
    return true;
  }

  #count(user: string, change: number): void {
    const ofUser = (this.#ofUser.get(user) ?? 0) + change;
    this.#ofAll += change;
    if (ofUser > 0) this.#ofUser.set(user, ofUser);
    else this.#ofUser.delete(user);
  }
}
