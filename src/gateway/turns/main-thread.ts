import type { Clock, Timer } from '../../kube/clock.ts';
import { TimeShare, type TimeShareOptions } from './time-share.ts';
import { UserLine } from './user-line.ts';

export interface MainThreadOptions extends TimeShareOptions {
  readonly clock: Clock;
}

/** To receive so many bytes over TLS, or to send them, takes the thread a millisecond, with what is left to collect as garbage. */
const bytesInMs = 2 ** 17;
/**
 * The same of a body that is received whole. Each 64 MB of them make V8 collect the whole heap, which takes the thread up to 50 ms: more
 * than a few megabytes a second beside others, and one in a hundred of their requests waits for that.
 */
const bodyBytesInMs = 2 ** 15;
/** Work that is begun before others come to their turn takes as long, milliseconds. */
const batchMs = 2;
/** The most pieces of work in a batch. */
const batchSize = 8;
/** How soon a user who has to wait is looked at again, milliseconds. */
const pauseMs = 5;

/**
 * The time of the one thread that serves everyone, for requests that the gateway answers itself. Each piece of work waits for its turn,
 * and users take turns. What a piece takes is measured, and who has had more than their share comes after the requests of all others.
 */
export class MainThread {
  readonly #clock: Clock;
  readonly #line = new UserLine<() => void>();
  readonly #taken: TimeShare;
  #current: { readonly user: string; readonly start: number } | undefined;
  #batchStart = 0;
  #isScheduled = false;
  #timer: Timer | undefined;

  constructor(options: MainThreadOptions) {
    this.#clock = options.clock;
    this.#taken = new TimeShare(options);
  }

  /**
   * Resolves when it is the turn of the user. What follows, up to the next wait for something else, counts as theirs, and so does what
   * was received for it before.
   */
  async turn(user: string, receivedBytes = 0): Promise<void> {
    if (receivedBytes > 0) this.#taken.charge(user, receivedBytes / bodyBytesInMs, this.#clock.monotonic());
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#line.add(user, resolve);
    this.#schedule();
    await promise;
  }

  /** The thread has received or sent so many bytes for the user. */
  charge(user: string, bytes: number): void {
    this.#taken.charge(user, bytes / bytesInMs, this.#clock.monotonic());
  }

  /** Between two callbacks of one batch all that a turn leads to has run, and no event of another request. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    const steps = Math.min(this.#line.size, batchSize);
    setImmediate(() => {
      this.#batchStart = this.#clock.monotonic();
      this.#step();
    });
    for (let step = 1; step < steps; step += 1) setImmediate(() => this.#step());
    setImmediate(() => this.#endBatch());
  }

  #step(): void {
    const now = this.#settle();
    if (now - this.#batchStart > batchMs) return;
    const next = this.#line.next((user) => this.#taken.mayGoOn(user, now));
    if (next === undefined) return;
    this.#current = { user: next.user, start: now };
    next.item();
  }

  #endBatch(): void {
    const now = this.#settle();
    this.#isScheduled = false;
    this.#taken.forget(now);
    if (this.#line.size === 0) return;
    if (this.#line.some((user) => this.#taken.mayGoOn(user, now))) return this.#schedule();
    this.#timer ??= this.#clock.setTimer(() => {
      this.#timer = undefined;
      this.#schedule();
    }, pauseMs);
  }

  /** Counts what the piece of work before took. */
  #settle(): number {
    const now = this.#clock.monotonic();
    if (this.#current === undefined) return now;
    const { user, start } = this.#current;
    this.#current = undefined;
    this.#taken.charge(user, now - start, now);
    return now;
  }
}
