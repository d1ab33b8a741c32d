import { reasons } from '../../api/reasons.ts';
import { events } from '../../api/resources.ts';
import type { Logger } from '../../logger.ts';
import { backOffDelay } from '../back-off.ts';
import type { KubeClient } from '../client/client.ts';
import type { Clock, Timer } from '../clock.ts';
import { isAlreadyExists, isNamespaceGoing, isNotFound, KubeError } from '../kube-error.ts';
import { sleep } from '../sleep.ts';
import {
  type EventInput,
  type EventSeries,
  eventName,
  eventNamespace,
  eventObject,
  type Reporter,
  seriesKey,
  seriesPatch,
} from './event-object.ts';
import { EventStorms } from './event-storms.ts';

export type { EventInput } from './event-object.ts';

export interface EventRecorderOptions extends Reporter {
  readonly client: Pick<KubeClient, 'create' | 'mergePatch'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Uniform in [0, 1). Default `Math.random`. */
  readonly random?: () => number;
  /** Events that wait to be sent; what comes then goes into the summary of its reason. Default 1,000. */
  readonly maxWaiting?: number;
  /** Events that are sent at a time. Default 4. */
  readonly concurrency?: number;
  /** Of one reason: at once, and a second after that. Above it they are summed up. Default 100 and 10. */
  readonly stormBudget?: { readonly burst: number; readonly rate: number };
  /** Between two summaries of one reason. Default 10 s. */
  readonly summaryMs?: number;
  /** Between two updates of one series. Default 10 s. */
  readonly seriesMs?: number;
  /** Called for each event that was lost because the API server refused it, or the process ends. */
  readonly onDropped?: () => void;
}

interface Entry extends EventSeries {
  stored: boolean;
  /** The count that the API server has. */
  sent: number;
}

/** An event that comes again after this long starts a new series. */
const seriesLifeMs = 6 * 60_000;
const maxSeries = 4096;
const tries = 3;

/**
 * Writes events in the background. The same event again updates one object; too many of one reason become a summary,
 * and so do those for which the queue has no room. Nothing here ever fails or delays the caller.
 */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #random: () => number;
  readonly #storms: EventStorms;
  readonly #series = new Map<string, Entry>();
  readonly #waiting = new Set<Entry>();
  /** Events of them that no sender has taken yet, the oldest first. */
  readonly #untaken = new Set<Entry>();
  readonly #senders = new Set<Promise<void>>();
  /** Known series that happened again and wait for their next update. */
  readonly #repeated = new Set<Entry>();
  #repeatTimer: Timer | undefined;

  constructor(options: EventRecorderOptions) {
    const {
      clock,
      stormBudget = { burst: 100, rate: 10 },
      summaryMs = 10_000,
      random = Math.random,
    } = options;
    this.#options = options;
    this.#random = random;
    const onSummary = (summary: EventInput) => this.#begin(summary);
    this.#storms = new EventStorms({ clock, ...stormBudget, summaryMs, onSummary });
  }

  /** Never throws. */
  record(input: EventInput): void {
    const known = this.#series.get(seriesKey(input));
    const now = this.#options.clock.now();
    if (known !== undefined && now - known.last < seriesLifeMs) this.#repeat(known, now);
    else if (this.#storms.admit(input) && !this.#begin(input)) this.#storms.leaveOut(input);
  }

  /** Sends what waits, summaries and series included; gives up after the time limit. Never rejects. */
  async drain(timeoutMs = 5_000): Promise<void> {
    const { clock, log } = this.#options;
    const ended = new AbortController();
    const everything = this.#sendEverything(ended.signal).finally(() => ended.abort());
    await Promise.race([everything, sleep(clock, timeoutMs, ended.signal)]);
    ended.abort();
    this.#repeatTimer?.cancel();
    const leftOut = this.#storms.discard();
    const unsent = [...new Set([...this.#waiting, ...this.#repeated])];
    const count = unsent.reduce((sum, entry) => sum + unsentOf(entry), leftOut);
    if (count === 0) return;
    log.warn({ count }, 'events were not sent in time');
    for (const entry of unsent) this.#drop(entry);
    for (let lost = 0; lost < leftOut; lost++) this.#options.onDropped?.();
  }

  /** Again and again, because an event may repeat while it is on its way. */
  async #sendEverything(ended: AbortSignal): Promise<void> {
    while (!ended.aborted) {
      this.#storms.flush();
      this.#flushRepeated();
      if (this.#senders.size === 0) return;
      await Promise.all(this.#senders);
    }
  }

  /** False when there is no room. */
  #begin(input: EventInput): boolean {
    const now = this.#options.clock.now();
    const name = eventName(input, this.#suffix());
    const entry: Entry = { input, name, first: now, last: now, count: 1, stored: false, sent: 0 };
    if (!this.#send(entry)) return false;
    const key = seriesKey(input);
    this.#series.delete(key);
    this.#series.set(key, entry);
    for (const oldest of this.#series.keys()) {
      if (this.#series.size <= maxSeries) break;
      this.#series.delete(oldest);
    }
    return true;
  }

  #repeat(entry: Entry, now: number): void {
    entry.count++;
    entry.last = now;
    if (!this.#waiting.has(entry)) this.#updateLater(entry);
  }

  #updateLater(entry: Entry): void {
    this.#repeated.add(entry);
    const { clock, seriesMs = 10_000 } = this.#options;
    this.#repeatTimer ??= clock.setTimer(() => this.#flushRepeated(), seriesMs);
  }

  #flushRepeated(): void {
    this.#repeatTimer?.cancel();
    this.#repeatTimer = undefined;
    for (const entry of this.#repeated) {
      if (!this.#send(entry)) return this.#updateLater(entry);
      this.#repeated.delete(entry);
    }
  }

  #send(entry: Entry): boolean {
    const { maxWaiting = 1_000, concurrency = 4 } = this.#options;
    if (this.#waiting.size >= maxWaiting) return false;
    this.#waiting.add(entry);
    this.#untaken.add(entry);
    if (this.#senders.size < concurrency) this.#startSender();
    return true;
  }

  #startSender(): void {
    const sender: Promise<void> = this.#sendAll().finally(() => this.#senders.delete(sender));
    this.#senders.add(sender);
  }

  async #sendAll(): Promise<void> {
    for (const entry of this.#untaken) {
      this.#untaken.delete(entry);
      await this.#sendOne(entry);
      this.#waiting.delete(entry);
      // It happened again while its event was on the way.
      if (entry.stored && entry.count > entry.sent) this.#updateLater(entry);
    }
  }

  async #sendOne(entry: Entry): Promise<void> {
    const { clock, log } = this.#options;
    for (let failures = 0; this.#waiting.has(entry); failures++) {
      try {
        return await this.#write(entry);
      } catch (error) {
        // It goes with the object that it is about, so no one misses it. A summary speaks for objects elsewhere, too.
        if (isNamespaceGoing(error) && entry.input.reason !== reasons.storm) return this.#forget(entry);
        if (failures + 1 >= tries || !isTransient(error)) {
          log.warn({ err: error, reason: entry.input.reason }, 'event could not be written');
          return this.#drop(entry);
        }
        await sleep(clock, backOffDelay(failures, { initialMs: 500, maxMs: 5_000, random: this.#random }));
      }
    }
  }

  async #write(entry: Entry): Promise<void> {
    // Events report what was done, so they may still go out after leadership has ended.
    const options = { timeoutMs: 5_000, unguarded: true };
    const { client } = this.#options;
    const namespace = eventNamespace(entry.input);
    if (entry.stored) {
      const { count } = entry;
      try {
        await client.mergePatch(events, { namespace, name: entry.name }, seriesPatch(entry), options);
        entry.sent = count;
        return;
      } catch (error) {
        // The API server forgets events after an hour.
        if (!isNotFound(error)) throw error;
      }
    }
    await this.#create(entry, namespace, options);
  }

  async #create(entry: Entry, namespace: string, options: object): Promise<void> {
    const { count } = entry;
    try {
      await this.#options.client.create(events, eventObject(entry, this.#options), { ...options, namespace });
      entry.sent = count;
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      // A first try that seemed to fail got through, with the count of that moment.
      entry.sent = 1;
    }
    entry.stored = true;
  }

  #drop(entry: Entry): void {
    const lost = unsentOf(entry);
    this.#forget(entry);
    for (let n = 0; n < lost; n++) this.#options.onDropped?.();
  }

  #forget(entry: Entry): void {
    // No one is told of it any more.
    entry.sent = entry.count;
    this.#waiting.delete(entry);
    this.#untaken.delete(entry);
    this.#series.delete(seriesKey(entry.input));
  }

  #suffix(): string {
    const part = () =>
      Math.floor(this.#random() * 2 ** 32)
        .toString(16)
        .padStart(8, '0');
    return part() + part();
  }
}

/** How often it happened since the API server was told. */
const unsentOf = ({ count, sent }: Entry): number => count - sent;

function isTransient(error: unknown): boolean {
  if (!(error instanceof KubeError)) return false;
  return error.status === 0 || error.status === 429 || error.status >= 500;
}
