import type { Clock } from '../clock.ts';
import { isNewerVersion } from '../object.ts';
import type { Store, StoreChange, StoredRecord } from './store.ts';

/** A write counts at least as long, and news that an object is gone no longer; milliseconds. */
const forgetAfter = 30_000;

interface Write<R> {
  readonly record: R;
  readonly until: number;
  /** By the store, when it was answered. */
  readonly listsBegun: number;
}

interface Tombstone {
  readonly until: number;
  /** From which version on the object was not there; absent: for good. */
  readonly goneAt: string | undefined;
}

/**
 * The store, plus our own writes that the watch has not brought yet. Without it a reconcile that follows a write at
 * once would decide on the object as it was before, and issue a second time. A watch may be silent for minutes before anyone notices, and the
 * write counts all that time.
 */
export class MutationCache<R extends StoredRecord> {
  readonly #store: Store<R>;
  readonly #clock: Clock;
  readonly #written = new Map<string, Write<R>>();
  /** UIDs of objects that are gone, oldest first, and until when an answer or an event about them may still be under way. */
  readonly #tombstones = new Map<string, Tombstone>();

  constructor(store: Store<R>, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    store.recogniseWrites(({ key, resourceVersion }) => this.getVersion(key, resourceVersion) !== undefined);
    store.subscribe((change) => this.#observe(change));
  }

  /**
   * The answer to a write can come after the watch has told that the object went: it must not bring it back. `replaced`: the version that
   * the write had as its precondition; absent where this was read. A write that changes nothing is answered with the version of another.
   */
  put(record: R, replaced = record.resourceVersion): void {
    if (this.isGone(record)) return;
    const seen = this.#store.get(record.key);
    if (seen?.uid === record.uid && !isNewerVersion(record.resourceVersion, seen.resourceVersion)) {
      if (replaced !== record.resourceVersion) this.#store.recogniseLateWrite(record);
      return;
    }
    const { listsBegun } = this.#store;
    this.#written.set(record.key, { record, until: this.#clock.monotonic() + forgetAfter, listsBegun });
  }

  /** Forgets a write whose object may be gone. */
  delete(key: string): void {
    this.#written.delete(key);
  }

  /** The API server says that the object is gone. The watch tells it later, and until then it counts as gone, too. */
  putTombstone({ key, uid }: Pick<R, 'key' | 'uid'>): void {
    if (this.#written.get(key)?.record.uid === uid) this.#written.delete(key);
    this.#addTombstone(uid);
  }

  /** An object that only left the selection of the watch comes back under its UID, in a later version. */
  isGone({ uid, resourceVersion }: Pick<R, 'uid' | 'resourceVersion'>): boolean {
    const tombstone = this.#tombstones.get(uid);
    if (tombstone === undefined || tombstone.until <= this.#clock.monotonic()) return false;
    return tombstone.goneAt === undefined || !isNewerVersion(resourceVersion, tombstone.goneAt);
  }

  /**
   * The record of exactly this version when it is the one that we wrote: the watch brings it a second time. One that comes so
   * late that it was not counted meanwhile is news.
   */
  getVersion(key: string, resourceVersion: string): R | undefined {
    const record = this.#present(key);
    return record?.resourceVersion === resourceVersion ? record : undefined;
  }

  get(key: string): R | undefined {
    const stored = this.#store.get(key);
    return this.#present(key) ?? (stored !== undefined && this.isGone(stored) ? undefined : stored);
  }

  /** The writes that the watch has not brought yet. */
  pending(): readonly R[] {
    return [...this.#written.values()].filter((write) => this.#counts(write)).map(({ record }) => record);
  }

  #present(key: string): R | undefined {
    const written = this.#written.get(key);
    if (written === undefined || this.#counts(written)) return written?.record;
    this.#written.delete(key);
    return undefined;
  }

  #counts({ record, until, listsBegun }: Write<R>): boolean {
    return until > this.#clock.monotonic() || !this.#store.isPast(record.resourceVersion, listsBegun);
  }

  /** A deletion of an earlier object under the same name says nothing about the one that we wrote. */
  #observe({ key, previous, current, goneAt }: StoreChange<R>): void {
    if (current === undefined && previous !== undefined) this.#addTombstone(previous.uid, goneAt);
    const written = this.#written.get(key)?.record;
    if (written === undefined) return;
    const caughtUp =
      current === undefined
        ? previous?.uid === written.uid && this.isGone(written)
        : !isNewerVersion(written.resourceVersion, current.resourceVersion);
    if (caughtUp) this.#written.delete(key);
  }

  #addTombstone(uid: string, goneAt?: string): void {
    const now = this.#clock.monotonic();
    for (const [oldest, { until }] of this.#tombstones) {
      if (until > now) break;
      this.#tombstones.delete(oldest);
    }
    this.#tombstones.delete(uid);
    this.#tombstones.set(uid, { until: now + forgetAfter, goneAt });
  }
}
