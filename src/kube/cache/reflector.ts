import type { WatchEvent, WatchStreamOptions } from '../client/watch-stream.ts';
import { badAnswer, kubeErrorFromStatus, unreachable } from '../kube-error.ts';
import { isNewerVersion, keyOf } from '../object.ts';
import { collectionPath } from '../resource-path.ts';
import { TimeSlice } from '../time-slice.ts';
import { Freshness } from './freshness.ts';
import { Milestone } from './milestone.ts';
import type { ReflectorOptions } from './reflector-options.ts';
import { Retries } from './retries.ts';
import type { StoredRecord } from './store.ts';
import { StoreFeed } from './store-feed.ts';
import { StreamedLists } from './streamed-lists.ts';
import { isRefusalOfStreaming, isResumable, isUnservedKind } from './watch-errors.ts';
import {
  answerMs,
  askForBytes,
  incompleteList,
  isEndOfList,
  listIdleMs,
  provenWatch,
  type Selection,
  selectionOf,
  streamedListQuery,
  watchQuery,
} from './watch-requests.ts';
import { WatchTrust } from './watch-trust.ts';

/** A watch that ends sooner, without an event, is a failure: opening the next at once would be a busy loop. */
const shortWatchMs = 1_000;
const listSeconds = 300;
const defaultWatchSeconds = [300, 600] as const;
const defaultLineBytes = 16 * 2 ** 20;
const defaultIdleMs = 130_000;
/** How much later than announced the end of a watch may come. */
const overdueMs = 5_000;
/** A watch of a store that is older than it should be: its first bookmark comes after two or three seconds. */
const catchUpSeconds = 4;
/** How much older than its longest watch a store gets while all is well: the answer before the next one. */
const answerSlackMs = 2_000;

/**
 * Keeps a store equal to what the API server has: lists, then watches from there, and lists again when the server no
 * longer knows where that was. A failure is logged and tried again with back-off for as long as the signal lets it;
 * meanwhile the store keeps what it had.
 */
export class Reflector<R extends StoredRecord> {
  readonly #options: ReflectorOptions<R>;
  readonly #path: string;
  readonly #selection: Selection;
  readonly #retries: Retries;
  readonly #freshness: Freshness;
  readonly #trust = new WatchTrust();
  readonly #slice: TimeSlice;
  readonly #feed: StoreFeed<R>;
  readonly #firstSync = new Milestone();
  readonly #firstAnswer = new Milestone();
  /** Where the next watch begins; absent: list first. */
  #resourceVersion: string | undefined;
  readonly #streamedLists: StreamedLists;

  constructor(options: ReflectorOptions<R>) {
    this.#options = options;
    this.#path = collectionPath(options.resource, options.namespace);
    this.#selection = selectionOf(options);
    this.#retries = new Retries(options);
    const { clock } = options;
    this.#freshness = new Freshness(clock);
    this.#slice = new TimeSlice(clock);
    this.#feed = new StoreFeed(options);
    this.#streamedLists = new StreamedLists(clock);
  }

  /** True once the store has held everything at one moment. It stays true: see {@link freshness}. */
  hasSynced(): boolean {
    return this.#freshness.hasSynced;
  }

  /** Resolves with the first sync; rejects with the signal's reason. */
  synced(signal: AbortSignal): Promise<void> {
    return this.#firstSync.wait(signal);
  }

  /** The same, but resolves also once the server says that it does not know the kind (yet): see {@link Store.isUnserved}. */
  answered(signal: AbortSignal): Promise<void> {
    return this.#firstAnswer.wait(signal);
  }

  /**
   * Milliseconds since the server last showed that the store is up to date; infinite before the first sync. Lists that stand in for
   * silent watches do not count.
   */
  freshness(): number {
    return this.#freshness.ageMs;
  }

  /** For a health check: how long each try has failed, and why, where that is longer than this. */
  outage(maxMs: number): string | undefined {
    return this.#retries.outage(maxMs);
  }

  /** The resourceVersion up to which the store is equal to what the server has; undefined while it is read (again). */
  position(): string | undefined {
    return this.#resourceVersion;
  }

  /** The server is back, as far as others know: what waits after a failure is tried now. */
  retryNow(): void {
    this.#retries.hurry();
  }

  /** Works until the signal aborts. Run it once. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#listOrWatch(signal);
      } catch (error) {
        if (!signal.aborted) await this.#recover(error, signal);
      }
    }
  }

  async #listOrWatch(signal: AbortSignal): Promise<void> {
    if (this.#resourceVersion !== undefined && this.#trust.isDoubted) await this.#askForBytes(signal);
    if (this.#resourceVersion !== undefined) return this.#watch(this.#resourceVersion, signal);
    this.#feed.beginList();
    const isStreamed = !this.#trust.isSilent && this.#streamedLists.begin();
    return isStreamed ? this.#streamList(signal) : this.#listPages(signal);
  }

  /** Where watches bring nothing, lists bring what is new: one now, and one after each watch that stays silent. */
  async #askForBytes(signal: AbortSignal): Promise<void> {
    const { client, idleMs = defaultIdleMs, maxLineBytes = defaultLineBytes } = this.#options;
    try {
      await askForBytes(client, { selection: this.#selection, signal, idleMs, maxLineBytes }, this.#path);
      this.#trust.restored();
    } catch (error) {
      if (isRefusalOfStreaming(error)) {
        this.#trust.fellSilent();
        this.#resourceVersion = undefined;
      }
      throw error;
    }
  }

  async #streamList(signal: AbortSignal): Promise<void> {
    const opened = this.#options.clock.monotonic();
    const query = streamedListQuery(this.#selection, listSeconds);
    const limits = { signal, idleMs: listIdleMs, firstEventMs: answerMs };
    const onOpen = () => this.#streamedLists.opened();
    for await (const event of this.#open(query, { ...limits, onOpen })) {
      this.#handle(event);
      if (isEndOfList(event)) {
        this.#streamedLists.succeeded();
        return this.#endList(event.object.metadata.resourceVersion, opened);
      }
      if (this.#slice.used) await this.#slice.yield();
    }
    throw incompleteList(this.#path, this.#options.clock.monotonic() - opened);
  }

  async #listPages(signal: AbortSignal): Promise<void> {
    const { client, resource, pageSize = 500 } = this.#options;
    let from: string | undefined;
    do {
      const page = { ...this.#selection, signal, limit: pageSize, ...(from ? { continue: from } : {}) };
      const { metadata, items } = await client.list(resource, page);
      for (const item of items) {
        this.#feed.upsert(item);
        if (this.#slice.used) await this.#slice.yield();
      }
      from = metadata.continue;
      if (!from) await this.#endList(metadata.resourceVersion);
    } while (from);
  }

  async #watch(resourceVersion: string, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const opened = clock.monotonic();
    let events = 0;
    for await (const event of this.#resume(resourceVersion, signal)) {
      events++;
      this.#handle(event);
      if (this.#slice.used) await this.#slice.yield();
    }
    if (events === 0 && clock.monotonic() - opened < shortWatchMs) {
      throw unreachable({ verb: 'WATCH', path: this.#path }, new Error('it ended at once, without an event'));
    }
    if (this.#freshness.isAwaiting && this.#resourceVersion === resourceVersion) {
      throw unreachable(
        { verb: 'WATCH', path: this.#path },
        new Error('it ended and brought nothing of what there was'),
      );
    }
    this.#trust.ended();
  }

  #resume(resourceVersion: string, signal: AbortSignal): AsyncIterable<WatchEvent> {
    const { proofTimeoutMs, idleMs } = this.#options;
    const seconds = this.#secondsOfWatch();
    const selection = this.#selection;
    const query = watchQuery(selection, seconds);
    query.set('resourceVersion', resourceVersion);
    if (proofTimeoutMs === undefined)
      return this.#open(query, { signal, idleMs: idleMs ?? defaultIdleMs, onOpen: () => this.#opened() });
    const { client, clock, resource, maxLineBytes = defaultLineBytes } = this.#options;
    return provenWatch({
      ...{ client, clock, resource, selection, query, resourceVersion, signal, maxLineBytes },
      idleMs: idleMs ?? 1000 * seconds + overdueMs,
      timeoutMs: proofTimeoutMs,
      onState: (state) => {
        this.#freshness.expect(state);
        this.#reach(resourceVersion);
      },
    });
  }

  #secondsOfWatch(): number {
    const { random, watchSeconds: [min, max] = defaultWatchSeconds } = this.#options;
    const isLate = this.#isStrict && this.#freshness.ageMs > 1000 * max + answerSlackMs;
    return isLate ? Math.min(catchUpSeconds, max) : Math.round(min + (max - min) * random());
  }

  #open(
    query: URLSearchParams,
    options: Pick<WatchStreamOptions, 'signal' | 'idleMs' | 'firstEventMs' | 'onOpen'>,
  ) {
    const { client, maxLineBytes = defaultLineBytes } = this.#options;
    return client.watch(this.#path, query, { ...options, maxLineBytes });
  }

  #handle(event: WatchEvent): void {
    if (event.type === 'ERROR') {
      // Resuming could bring the same error for ever, whatever the server means.
      this.#resourceVersion = undefined;
      throw kubeErrorFromStatus({ verb: 'WATCH', path: this.#path }, 200, event.object);
    }
    const { metadata } = event.object;
    this.#checkOrder(metadata.resourceVersion);
    if (event.type === 'DELETED') this.#feed.remove({ key: keyOf(metadata), ...metadata });
    else if (event.type !== 'BOOKMARK') this.#feed.upsert(event.object);
    if (this.#feed.isListing) return;
    this.#resourceVersion = metadata.resourceVersion;
    this.#feed.reach(metadata.resourceVersion);
    if (this.#isStrict) this.#reach(metadata.resourceVersion);
    else this.#prove();
  }

  /** A stream only rises. It falls when etcd is restored under a running API server: events between are lost to it. */
  #checkOrder(resourceVersion: string): void {
    if (this.#resourceVersion === undefined || !isNewerVersion(this.#resourceVersion, resourceVersion))
      return;
    throw badAnswer({ verb: 'WATCH', path: this.#path }, 'the resourceVersion went back');
  }

  /** `opened`: of a list that came as a watch, when that began. */
  async #endList(resourceVersion: string, opened?: number): Promise<void> {
    await this.#feed.endList(resourceVersion, this.#slice);
    this.#resourceVersion = resourceVersion;
    this.#freshness.listed();
    // Pages say nothing of watches. A strict reflector waits for what the next one brings.
    const since = this.#isStrict ? opened : this.#options.clock.monotonic();
    if (since !== undefined && !this.#trust.isSilent) this.#prove(since);
    this.#firstSync.reach();
    this.#firstAnswer.reach();
  }

  /** All that the watch brought was up to here. */
  #reach(resourceVersion: string): void {
    if (this.#freshness.reached(resourceVersion)) this.#retries.succeeded();
  }

  #opened(): void {
    if (this.#trust.isSound) this.#prove();
    else if (!this.#trust.isSilent) this.#retries.succeeded();
  }

  #prove(since = this.#options.clock.monotonic()): void {
    this.#freshness.prove(since);
    this.#retries.succeeded();
    this.#trust.restored();
  }

  get #isStrict(): boolean {
    return this.#options.proofTimeoutMs !== undefined;
  }

  async #recover(error: unknown, signal: AbortSignal): Promise<void> {
    const { log, resource, onRestart, idleMs = defaultIdleMs } = this.#options;
    onRestart?.();
    const wasList = this.#feed.isListing && !this.#trust.isSilent;
    if (wasList) this.#streamedLists.failed(isRefusalOfStreaming(error) ? 'refused' : 'broken');
    this.#feed.giveUpList();
    if (isUnservedKind(error)) {
      this.#feed.noteUnserved();
      this.#firstAnswer.reach();
    }
    if (!isResumable(error)) this.#resourceVersion = undefined;
    if (this.#resourceVersion !== undefined && !this.#isStrict)
      this.#trust.failed(this.freshness() >= idleMs);
    const pause = this.#retries.failed(error);
    const told = { kind: resource.kind, err: error, relist: this.#resourceVersion === undefined };
    log.warn({ ...told, delayMs: pause.delayMs }, 'watch failed; it will be tried again');
    await this.#retries.wait(pause, signal);
  }
}
