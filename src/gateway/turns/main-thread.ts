import type { Clock, Timer } from '../../kube/clock.ts';
import { UserLine } from './user-line.ts';

export interface MainThreadOptions {
  readonly clock: Clock;
  /** Whether no one but this user has a short request under way. */
  readonly isAlone: (user: string) => boolean;
}

/** Of the time of the thread, for one user, while others have requests under way. */
const share = 0.2;
/** What a user may take at once after a pause, milliseconds of the thread. */
const burstMs = 50;
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
  readonly #options: MainThreadOptions;
  readonly #line = new UserLine<() => void>();
  /** Until when each user has to wait for what they have taken, at the pace of a share. Those with nothing to wait for are not here. */
  readonly #paidAt = new Map<string, number>();
  #current: { readonly user: string; readonly start: number } | undefined;
  #batchStart = 0;
  #isScheduled = false;
  #timer: Timer | undefined;

  constructor(options: MainThreadOptions) {
    this.#options = options;
  }

  /** Resolves when it is the turn of the user. What follows, up to the next wait for something else, counts as theirs. */
  async turn(user: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#line.add(user, resolve);
    this.#schedule();
    await promise;
  }

  /** Between two callbacks of one batch all that a turn leads to has run, and no event of another request. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    const steps = Math.min(this.#line.size, batchSize);
    setImmediate(() => {
      this.#batchStart = this.#options.clock.monotonic();
      this.#step();
    });
    for (let step = 1; step < steps; step += 1) setImmediate(() => this.#step());
    setImmediate(() => this.#endBatch());
  }

  #step(): void {
    const now = this.#settle();
    if (now - this.#batchStart > batchMs) return;
    const next = this.#line.next((user) => this.#mayGoOn(user, now));
    if (next === undefined) return;
    this.#current = { user: next.user, start: now };
    next.item();
  }

  #endBatch(): void {
    const now = this.#settle();
    this.#isScheduled = false;
    this.#forget(now);
    if (this.#line.size === 0) return;
    if (this.#line.some((user) => this.#mayGoOn(user, now))) return this.#schedule();
    this.#timer ??= this.#options.clock.setTimer(() => {
      this.#timer = undefined;
      this.#schedule();
    }, pauseMs);
  }

  /** Counts what the piece of work before took. */
  #settle(): number {
    const now = this.#options.clock.monotonic();
    if (this.#current === undefined) return now;
    const { user, start } = this.#current;
    this.#current = undefined;
    const paidAt = Math.max(this.#paidAt.get(user) ?? 0, start) + (now - start) / share;
    this.#paidAt.delete(user);
    this.#paidAt.set(user, paidAt);
    return now;
  }

  #mayGoOn(user: string, now: number): boolean {
    return (this.#paidAt.get(user) ?? 0) - now <= burstMs / share || this.#options.isAlone(user);
  }

  /** Those who came last are at the end. */
  #forget(now: number): void {
    for (const [user, paidAt] of this.#paidAt) {
      if (paidAt > now) return;
      this.#paidAt.delete(user);
    }
  }
}
