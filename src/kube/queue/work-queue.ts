import { backOffDelay } from '../back-off.ts';
import type { Clock, Timer } from '../clock.ts';
import { DelayHeap } from './delay-heap.ts';
import { FairLanes, type LaneName, namesOf } from './fair-lanes.ts';
import { SlotLines, type SlotOptions } from './slot-lines.ts';

export interface WorkQueueOptions {
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** The first delay of a failing key. Default 5 ms. */
  readonly initialBackOffMs?: number;
  /** The longest delay of a failing key. Default 1,000 s. */
  readonly maxBackOffMs?: number;
  /** Hears of each key that is put into the queue; not of one that stands there already. For metrics. */
  readonly onAdd?: () => void;
  /** Whose key it is: owners take turns. Asked when the key begins to wait. Default: all keys are of one owner. */
  readonly ownerOf?: (key: string) => LaneName;
  /** How many keys of one owner are worked on at a time while another owner has any. Default: as many as there are workers. */
  readonly maxBusyPerOwner?: number;
  /** The same while no other owner has any: below the number of workers, one is free for whose key comes next. Default: all. */
  readonly maxBusyAlone?: number;
  /** Slots that keys need while they are worked on. A key without one stands in line, and holds no worker. Default: none. */
  readonly slots?: SlotOptions;
}

/**
 * `listed`: one of very many that come at once, which go behind the changes of their owner. `changed`: the object itself is new
 * or was changed, and goes before those, also when it waits among them.
 */
export type Urgency = 'listed' | 'changed';

/**
 * The work queue of client-go: a key is handed to one worker at a time, a key that is added while it waits is not
 * added twice, and one that is added while it is worked on comes again after `done`. Its bound is the number of
 * keys: each stands in it at most once, and at most once among the delayed ones. Unlike there, owners take turns, and
 * a key without a slot stands in line until `done` of another hands one on: no timer brings it, so none can be missed.
 */
export class WorkQueue {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #initialBackOffMs: number;
  readonly #maxBackOffMs: number;
  readonly #onAdd: (() => void) | undefined;
  readonly #ownerOf: (key: string) => LaneName;
  readonly #waiting: FairLanes;
  readonly #slots: SlotLines | undefined;
  /** Needs work; once taken no longer, unless added again meanwhile. */
  readonly #dirty = new Set<string>();
  /** Keys that wait as listed, and their owners when they began to. */
  readonly #listed = new Map<string, LaneName>();
  readonly #processing = new Set<string>();
  readonly #delayed = new DelayHeap();
  readonly #failures = new Map<string, number>();
  #idle: ((key: string | undefined) => void)[] = [];
  #timer: Timer | undefined;
  #timerDue = Number.POSITIVE_INFINITY;
  #shutDown = false;

  constructor(options: WorkQueueOptions) {
    const { clock, random, initialBackOffMs = 5, maxBackOffMs = 1_000_000, onAdd } = options;
    this.#clock = clock;
    this.#random = random;
    this.#initialBackOffMs = initialBackOffMs;
    this.#maxBackOffMs = maxBackOffMs;
    this.#onAdd = onAdd;
    this.#ownerOf = options.ownerOf ?? (() => '');
    this.#waiting = new FairLanes(options.maxBusyPerOwner, options.maxBusyAlone);
    this.#slots = options.slots && new SlotLines(options.slots, (key) => this.#push(key));
  }

  /** Keys that wait for a worker. */
  get length(): number {
    return this.#waiting.length;
  }

  /** Keys that wait for a slot. */
  get waitingForSlot(): number {
    return this.#slots?.waiting ?? 0;
  }

  /** Keys that workers have. @public for the test that compares the queue with a plain model of it. */
  get processing(): number {
    return this.#processing.size;
  }

  /** Keys that wait for their time. @public as `processing` is. */
  get delayed(): number {
    return this.#delayed.size;
  }

  /** No effect after `shutDown`. Without an urgency a key that waits keeps its place. */
  add(key: string, urgency?: Urgency): void {
    if (this.#shutDown) return;
    if (this.#dirty.has(key)) return this.#addAgain(key, urgency);
    this.#dirty.add(key);
    this.#onAdd?.();
    if (!this.#processing.has(key)) this.#offer(key, urgency === 'listed');
  }

  /** Adds the key later. Of several times for one key the earliest wins; a plain `add` does not cancel it. */
  addAfter(key: string, delayMs: number): void {
    if (!Number.isFinite(delayMs)) throw new TypeError('addAfter: delayMs must be a finite number');
    if (this.#shutDown) return;
    if (delayMs <= 0) return this.add(key);
    this.#delayed.put(key, this.#clock.monotonic() + delayMs);
    this.#setTimer();
  }

  /** Adds the key after a delay that doubles with each call until `forget`. */
  addRateLimited(key: string): void {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    const options = { initialMs: this.#initialBackOffMs, maxMs: this.#maxBackOffMs, random: this.#random };
    this.addAfter(key, backOffDelay(failures, options));
  }

  /** Adds what waits for its time: the clock by which it was counted has been set. */
  addDelayed(): void {
    this.#timer?.cancel();
    this.#addDue(Number.POSITIVE_INFINITY);
  }

  /** How often `addRateLimited` was called since the last `forget`. */
  failures(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /** The key has no failures behind it any more. It stays queued. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  /** The next key, for this caller alone until `done`; `undefined` once shut down and empty. */
  get(): Promise<string | undefined> {
    const key = this.#take();
    if (key !== undefined) {
      // A slot that the key does not need any more may have been handed on.
      this.#dispatch();
      return Promise.resolve(key);
    }
    if (this.#shutDown && this.#isEmpty) return Promise.resolve(undefined);
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  /** Call once for each key that `get` gave, whatever came of it. */
  done(key: string): void {
    this.#processing.delete(key);
    this.#waiting.done(key);
    this.#slots?.leave(key);
    if (this.#dirty.has(key)) this.#offer(key);
    else this.#dispatch();
  }

  /**
   * Takes no more keys and drops the delayed ones. Workers still get what is queued, unless `discard` is set: right
   * when everything is reconciled again after the next start.
   */
  shutDown({ discard = false }: { discard?: boolean } = {}): void {
    this.#shutDown = true;
    this.#timer?.cancel();
    this.#delayed.clear();
    if (discard) this.#discardQueued();
    if (this.#isEmpty) this.#release();
  }

  get #isEmpty(): boolean {
    return this.length + this.waitingForSlot === 0;
  }

  #offer(key: string, isListed = false): void {
    this.#push(key, isListed);
    this.#dispatch();
  }

  #push(key: string, isListed = false): void {
    const owner = this.#ownerOf(key);
    if (isListed) this.#listed.set(key, owner);
    this.#waiting.push(key, owner, isListed);
  }

  #addAgain(key: string, urgency: Urgency | undefined): void {
    if (this.#slots?.isMisplaced(key) === true) {
      // Gone, or about something else by now: it must not stand in line for what it does not need.
      this.#slots.leave(key);
      return this.#offer(key);
    }
    this.#endWait(key);
    if (urgency === 'changed') this.#advance(key);
  }

  /** A key in line is told when it needs no slot any more. */
  #endWait(key: string): void {
    const neededForMs = this.#slots?.isMisplaced(key) === true ? 0 : this.#slots?.neededForMs(key);
    if (neededForMs !== undefined) this.addAfter(key, Math.max(1, neededForMs));
  }

  #advance(key: string): void {
    const owner = this.#listed.get(key);
    if (owner === undefined) return this.#slots?.advance(key);
    this.#listed.delete(key);
    this.#waiting.advance(key, owner);
  }

  /** Gives idle workers what may be taken now. */
  #dispatch(): void {
    while (this.#idle.length > 0) {
      const key = this.#take();
      if (key === undefined) break;
      this.#idle.shift()?.(key);
    }
    if (this.#shutDown && this.#isEmpty) this.#release();
  }

  /** There will be no more keys. */
  #release(): void {
    for (const resolve of this.#idle.splice(0)) resolve(undefined);
  }

  #take(): string | undefined {
    for (let key = this.#waiting.take(); key !== undefined; key = this.#waiting.take()) {
      const isListed = this.#listed.delete(key);
      if (this.#slots?.enter(key, namesOf(this.#ownerOf(key))[0], isListed) ?? true) {
        this.#processing.add(key);
        this.#dirty.delete(key);
        return key;
      }
      this.#waiting.done(key);
      this.#endWait(key);
    }
    return undefined;
  }

  #discardQueued(): void {
    this.#waiting.clear();
    this.#slots?.clear();
    this.#dirty.clear();
    this.#listed.clear();
  }

  #setTimer(): void {
    const due = this.#delayed.nextDue;
    if (due === undefined || due >= this.#timerDue) return;
    this.#timer?.cancel();
    this.#timerDue = due;
    this.#timer = this.#clock.setTimer(() => this.#addDue(), due - this.#clock.monotonic());
  }

  #addDue(now = this.#clock.monotonic()): void {
    this.#timerDue = Number.POSITIVE_INFINITY;
    // All of them first: one that stands in line for a slot is put among the delayed ones again.
    const due: string[] = [];
    for (let key = this.#delayed.takeDue(now); key !== undefined; key = this.#delayed.takeDue(now))
      due.push(key);
    for (const key of due) this.add(key);
    this.#setTimer();
  }
}
