import type { Clock, Timer } from '../../kube/clock.ts';
import { TimeShare, type TimeShareOptions } from '../turns/time-share.ts';
import { UserLine } from '../turns/user-line.ts';
import type { YAMLReading } from './read-yaml.ts';
import type { YAMLThread, YAMLThreadLimits } from './yaml-thread.ts';

export interface YAMLTurnsLimits extends YAMLThreadLimits {
  /** Texts that wait or are read. */
  readonly ofUser: number;
  readonly ofAll: number;
}

/** How soon a user who has to wait is looked at again, milliseconds. */
const pauseMs = 10;

interface WaitingText {
  readonly text: string;
  readonly onRead: (reading: YAMLReading | undefined) => void;
  /** Over: it waited too long. */
  state: 'waiting' | 'read' | 'over';
}

interface YAMLTurnsOptions extends TimeShareOptions {
  readonly clock: Clock;
  readonly thread: Pick<YAMLThread, 'read'>;
  readonly limits: YAMLTurnsLimits;
  readonly maxWaitMs: number;
}

/** A thread, and the line in front of it. Users take turns, and who has had more than a share of its time waits for a while. */
export class YAMLTurns {
  readonly #options: YAMLTurnsOptions;
  readonly #line = new UserLine<WaitingText>();
  readonly #taken: TimeShare;
  readonly #ofUser = new Map<string, number>();
  #ofAll = 0;
  #isReading = false;
  #timer: Timer | undefined;

  constructor(options: YAMLTurnsOptions) {
    this.#options = options;
    this.#taken = new TimeShare(options);
  }

  async read(user: string, text: string): Promise<YAMLReading | undefined> {
    const { clock, limits, maxWaitMs } = this.#options;
    const ofUser = this.#ofUser.get(user) ?? 0;
    if (ofUser >= limits.ofUser || this.#ofAll >= limits.ofAll) return undefined;
    const { promise, resolve: onRead } = Promise.withResolvers<YAMLReading | undefined>();
    this.#count(user, 1);
    const waiting: WaitingText = { text, onRead, state: 'waiting' };
    const timer = clock.setTimer(() => {
      if (waiting.state === 'waiting') onRead(undefined);
      waiting.state = 'over';
    }, maxWaitMs);
    this.#line.add(user, waiting);
    void this.#run();
    return await promise.finally(() => {
      timer.cancel();
      this.#count(user, -1);
    });
  }

  async #run(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    const { clock, thread } = this.#options;
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const { text, onRead } = next.item;
      next.item.state = 'read';
      const { reading, ms } = await thread.read(text);
      this.#taken.charge(next.user, ms, clock.monotonic());
      onRead(reading);
    }
    this.#isReading = false;
    if (this.#line.size > 0) this.#runLater();
  }

  /** Undefined: none waits but those of users who have had more than their share. */
  #next(): { user: string; item: WaitingText } | undefined {
    const now = this.#options.clock.monotonic();
    this.#taken.forget(now);
    for (;;) {
      const next = this.#line.next((user) => this.#taken.mayGoOn(user, now));
      if (next?.item.state !== 'over') return next;
    }
  }

  #runLater(): void {
    this.#timer ??= this.#options.clock.setTimer(() => {
      this.#timer = undefined;
      void this.#run();
    }, pauseMs);
  }

  #count(user: string, change: number): void {
    const ofUser = (this.#ofUser.get(user) ?? 0) + change;
    this.#ofAll += change;
    if (ofUser > 0) this.#ofUser.set(user, ofUser);
    else this.#ofUser.delete(user);
  }
}
