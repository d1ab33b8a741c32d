import type { WatchEvent, WatchStreamOptions } from '../client/watch-stream.ts';
import { badAnswer, type KubeError, kubeErrorFromStatus, timedOut, unreachable } from '../kube-error.ts';
import { isNewerVersion, type KubeObject, keyOf } from '../object.ts';
import { collectionPath } from '../resource-path.ts';
import { TimeSlice } from '../time-slice.ts';
import { Freshness } from './freshness.ts';
import type { ReflectorOptions } from './reflector-options.ts';
import { Retries } from './retries.ts';
import type { StoredRecord } from './store.ts';
import { isRefusalOfStreaming, isResumable } from './watch-recovery.ts';
import {
  checkServer,
  isEndOfList,
  provenWatch,
  type Selection,
  selectionOf,
  watchQuery,
} from './watch-requests.ts';

/** A watch that ends sooner, without an event, is a failure: opening the next at once would be a busy loop. */
const shortWatchMs = 1_000;
/** Lists have no bookmarks on the way; a server that knows no streaming lists just stays silent. */
const listIdleMs = 60_000;
const listSeconds = 300;
const defaultWatchSeconds = [300, 600] as const;
const defaultLineBytes = 16 * 2 ** 20;
/** How much later than announced the end of a watch may come. */
const overdueMs = 5_000;

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
  readonly #slice: TimeSlice;
  readonly #firstSync = Promise.withResolvers<void>();
  /** Where the next watch begins; absent: list first. */
  #resourceVersion: string | undefined;
  #streamingLists = true;
  /** Keys met since the present list began; absent: no list runs. */
  #seen: Set<string> | undefined;

  constructor(options: ReflectorOptions<R>) {
    this.#options = options;
    this.#path = collectionPath(options.resource, options.namespace);
    this.#selection = selectionOf(options);
    this.#retries = new Retries(options);
    const { clock, relistAfterMs, proofTimeoutMs = 0, watchSeconds: [, max] = defaultWatchSeconds } = options;
    const healthyMs = 1000 * max + overdueMs;
    this.#freshness = new Freshness({ clock, relistAfterMs, proofTimeoutMs, healthyMs });
    this.#slice = new TimeSlice(clock);
  }

  /** True once the store has held everything at one moment. It stays true: see {@link freshness}. */
  hasSynced(): boolean {
    return this.#freshness.hasSynced;
  }

  /** Resolves with the first sync; rejects with the signal's reason. */
  async synced(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    await Promise.race([this.#firstSync.promise, aborted]).finally(() =>
      signal.removeEventListener('abort', onAbort),
    );
  }

  /** Milliseconds since the server last showed that the store is up to date; infinite before the first sync. */
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
    if (this.#resourceVersion !== undefined && this.#freshness.isLate) await this.#forgetOnceProven(signal);
    if (this.#resourceVersion !== undefined) return this.#watch(this.#resourceVersion, signal);
    this.#seen = new Set();
    return this.#streamingLists ? this.#streamList(signal) : this.#listPages(signal);
  }

  /**
   * Nothing tells when a watch has brought all that happened in an outage: a store that counts as fresh before that holds what
   * has long been taken back. So everything is listed, but not before the server answers short requests again.
   */
  async #forgetOnceProven(signal: AbortSignal): Promise<void> {
    const { client, clock, resource, proofTimeoutMs: timeoutMs = 0 } = this.#options;
    const resourceVersion = this.#resourceVersion ?? '';
    const selection = this.#selection;
    await checkServer(client, { clock, resource, selection, resourceVersion, timeoutMs, signal }, this.#path);
    this.#resourceVersion = undefined;
  }

  async #streamList(signal: AbortSignal): Promise<void> {
    const opened = this.#options.clock.monotonic();
    const query = watchQuery(this.#selection, listSeconds);
    query.set('sendInitialEvents', 'true');
    query.set('resourceVersionMatch', 'NotOlderThan');
    for await (const event of this.#open(query, { signal, idleMs: listIdleMs })) {
      this.#handle(event);
      if (isEndOfList(event)) return this.#endList(event.object.metadata.resourceVersion, opened);
      if (this.#slice.used) await this.#slice.yield();
    }
    throw this.#incompleteList(opened);
  }

  /** A server that stops ends its streams early; one that ends them late never meant to send a list. */
  #incompleteList(opened: number): KubeError {
    const action = { verb: 'WATCH', path: this.#path };
    const lastedMs = Math.round(this.#options.clock.monotonic() - opened);
    if (lastedMs >= listIdleMs) return timedOut(action, lastedMs);
    return unreachable(action, new Error('the list ended before it was complete'));
  }

  async #listPages(signal: AbortSignal): Promise<void> {
    const { client, resource, clock, pageSize = 500 } = this.#options;
    const began = clock.monotonic();
    let from: string | undefined;
    do {
      const page = { ...this.#selection, signal, limit: pageSize, ...(from ? { continue: from } : {}) };
      const { metadata, items } = await client.list(resource, page);
      for (const item of items) {
        this.#upsert(item);
        if (this.#slice.used) await this.#slice.yield();
      }
      from = metadata.continue;
      if (!from) await this.#endList(metadata.resourceVersion, began);
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
  }

  #resume(resourceVersion: string, signal: AbortSignal): AsyncIterable<WatchEvent> {
    const { random, watchSeconds: [min, max] = defaultWatchSeconds, proofTimeoutMs, idleMs } = this.#options;
    const seconds = Math.round(min + (max - min) * random());
    const selection = this.#selection;
    const query = watchQuery(selection, seconds);
    query.set('resourceVersion', resourceVersion);
    if (proofTimeoutMs === undefined)
      return this.#open(query, { signal, idleMs: idleMs ?? 130_000, onOpen: () => this.#prove() });
    const { client, clock, resource, maxLineBytes = defaultLineBytes } = this.#options;
    return provenWatch({
      ...{ client, clock, resource, selection, query, resourceVersion, signal, maxLineBytes },
      idleMs: idleMs ?? 1000 * seconds + overdueMs,
      timeoutMs: proofTimeoutMs,
      onProof: (since) => this.#proveInTime(since),
    });
  }

  #proveInTime(since: number): void {
    if (!this.#freshness.isTooLate) return this.#prove(since);
    this.#resourceVersion = undefined;
    throw unreachable({ verb: 'WATCH', path: this.#path }, new Error('it opened too late'));
  }

  #open(query: URLSearchParams, options: Pick<WatchStreamOptions, 'signal' | 'idleMs' | 'onOpen'>) {
    const { client, maxLineBytes = defaultLineBytes } = this.#options;
    return client.watch(this.#path, query, { ...options, maxLineBytes });
  }

  #handle(event: WatchEvent): void {
    if (event.type === 'ERROR') {
      // Whatever the server means, resuming could bring the same error for ever.
      this.#resourceVersion = undefined;
      throw kubeErrorFromStatus({ verb: 'WATCH', path: this.#path }, 200, event.object);
    }
    const { metadata } = event.object;
    this.#checkOrder(metadata.resourceVersion);
    if (event.type === 'DELETED') this.#remove(keyOf(metadata), metadata.uid);
    else if (event.type !== 'BOOKMARK') this.#upsert(event.object);
    if (this.#seen !== undefined) return;
    this.#resourceVersion = metadata.resourceVersion;
    if (!this.#isStrict || event.type !== 'BOOKMARK') this.#prove();
  }

  /** A stream only rises. It falls when etcd is restored under a running API server: events between are lost to it. */
  #checkOrder(resourceVersion: string): void {
    if (this.#resourceVersion === undefined || !isNewerVersion(this.#resourceVersion, resourceVersion))
      return;
    throw badAnswer({ verb: 'WATCH', path: this.#path }, 'the resourceVersion went back');
  }

  #upsert(object: KubeObject): void {
    const record = this.#project(object);
    if (record === undefined) return this.#remove(keyOf(object.metadata), object.metadata.uid);
    this.#seen?.add(record.key);
    // What a later list brings was changed while no watch ran.
    const from = this.hasSynced() ? 'watch' : 'list';
    this.#change(() => this.#options.store.upsert(record, from));
  }

  #project(object: KubeObject): R | undefined {
    try {
      return this.#options.project(object);
    } catch (error) {
      const { name, namespace } = object.metadata;
      const { log, resource } = this.#options;
      log.error(
        { kind: resource.kind, name, namespace, err: error },
        'object cannot be read and counts as absent',
      );
      return undefined;
    }
  }

  #remove(key: string, uid?: string): void {
    this.#seen?.delete(key);
    this.#change(() => this.#options.store.remove(key, uid));
  }

  /** Listeners are not ours: one that throws must not cost the rest of the stream. */
  #change(change: () => void): void {
    try {
      change();
    } catch (error) {
      this.#options.log.error({ kind: this.#options.resource.kind, err: error }, 'store listener failed');
    }
  }

  async #endList(resourceVersion: string, began: number): Promise<void> {
    for (const key of this.#options.store.keys()) {
      if (!this.#seen?.has(key)) this.#remove(key);
      if (this.#slice.used) await this.#slice.yield();
    }
    this.#seen = undefined;
    this.#resourceVersion = resourceVersion;
    this.#freshness.listed(this.#isStrict ? began : this.#options.clock.monotonic());
    this.#retries.succeeded();
    this.#firstSync.resolve();
  }

  #prove(since = this.#options.clock.monotonic()): void {
    this.#freshness.prove(since);
    this.#retries.succeeded();
  }

  get #isStrict(): boolean {
    return this.#options.proofTimeoutMs !== undefined;
  }

  async #recover(error: unknown, signal: AbortSignal): Promise<void> {
    const { log, resource, onRestart } = this.#options;
    onRestart?.();
    if (this.#seen !== undefined && isRefusalOfStreaming(error)) this.#streamingLists = false;
    this.#seen = undefined;
    if (!isResumable(error)) this.#resourceVersion = undefined;
    const pause = this.#retries.failed(error);
    const relist = this.#resourceVersion === undefined;
    const { delayMs } = pause;
    log.warn({ kind: resource.kind, err: error, relist, delayMs }, 'watch failed; it will be tried again');
    await this.#retries.wait(pause, signal);
  }
}
