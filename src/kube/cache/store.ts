import { isNewerVersion } from '../object.ts';

export interface StoredRecord {
  /** `name`, or `namespace/name`. */
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

/**
 * `list`: it was there when the store was first filled. `relist`: a later list brought it, so it was written at some time since the watch
 * before. `write`: the watch brings back what a write of this process made.
 */
export type Origin = 'list' | 'relist' | 'watch' | 'write';

/** Another UID under the same key arrives as `deleted`, then `added`. */
export interface StoreChange<R> {
  readonly type: 'added' | 'updated' | 'deleted';
  readonly origin: Origin;
  readonly key: string;
  readonly previous?: R;
  readonly current?: R;
  /** The resourceVersion at which a deleted one was not there any more, where the API server has told that. */
  readonly goneAt?: string;
}

export type StoreListener<R> = (change: StoreChange<R>) => void;
/** The values under which a record is found; pure, because it is asked again to take the record out. */
export type StoreIndex<R> = (record: R) => readonly string[];

const none: readonly never[] = Object.freeze([]);

/**
 * The objects that a reflector knows, by key and by index. Listeners run at once and in order; one that throws stops neither the
 * others nor the change: the writer gets its error after all have run.
 */
export class Store<R extends StoredRecord> {
  readonly #records = new Map<string, R>();
  readonly #indexes: ReadonlyMap<string, Index<R>>;
  readonly #listeners = new Set<StoreListener<R>>();
  readonly #lateWriteListeners = new Set<(written: R) => void>();
  #isOwnWrite: (record: R) => boolean = () => false;
  #isUnserved = false;
  #position: string | undefined;
  #listsBegun = 0;
  /** The newest list that was complete, counted as those that began. */
  #lastComplete = 0;

  constructor(indexes: Record<string, StoreIndex<R>> = {}) {
    this.#indexes = new Map(Object.entries(indexes).map(([name, values]) => [name, new Index(values)]));
  }

  get size(): number {
    return this.#records.size;
  }

  /**
   * True from when the API server says that it does not know the kind until everything of it has been listed: that a record is
   * missing says nothing then.
   */
  get isUnserved(): boolean {
    return this.#isUnserved;
  }

  get(key: string): R | undefined {
    return this.#records.get(key);
  }

  values(): IterableIterator<R> {
    return this.#records.values();
  }

  keys(): IterableIterator<string> {
    return this.#records.keys();
  }

  /** The records under a value, in no order. A name that was not given to the constructor throws. */
  byIndex(name: string, value: string): readonly R[] {
    return this.#indexOf(name).find(value);
  }

  /** How many {@link byIndex} would find, without a list of them. */
  countByIndex(name: string, value: string): number {
    return this.#indexOf(name).count(value);
  }

  /** The listener is called for later changes only. Returns what ends the subscription. */
  subscribe(listener: StoreListener<R>): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** For the mutation cache, which knows the versions that writes of this process made. */
  recogniseWrites(isOwnWrite: (record: R) => boolean): void {
    this.#isOwnWrite = isOwnWrite;
  }

  /** The listener is called with a write of this process that the watch brought before its answer, and so with the origin `watch`. */
  subscribeToLateWrites(listener: (written: R) => void): void {
    this.#lateWriteListeners.add(listener);
  }

  /** For the mutation cache. */
  recogniseLateWrite(written: R): void {
    for (const listener of this.#lateWriteListeners) listener(written);
  }

  /** For the reflector. */
  setUnserved(isUnserved: boolean): void {
    this.#isUnserved = isUnserved;
  }

  /**
   * The resourceVersion up to which everything has come: before the present change, and while a later list is read, before that list.
   * Undefined until everything was listed once.
   */
  get position(): string | undefined {
    return this.#position;
  }

  /** For the reflector. */
  reach(resourceVersion: string): void {
    this.#position = resourceVersion;
  }

  /** How many lists have begun. */
  get listsBegun(): number {
    return this.#listsBegun;
  }

  /** For the reflector. */
  beginList(): void {
    this.#listsBegun++;
  }

  /** For the reflector: the last list that began has brought everything. */
  completeList(resourceVersion: string): void {
    this.#lastComplete = this.#listsBegun;
    this.reach(resourceVersion);
  }

  /**
   * Whether the watch has brought all up to this version. A list that began after that does as well, `listsBegun` having been counted then:
   * a restored etcd may count from a lower one.
   */
  isPast(resourceVersion: string, listsBegun: number): boolean {
    if (this.#lastComplete > listsBegun) return true;
    return this.#position !== undefined && !isNewerVersion(resourceVersion, this.#position);
  }

  /** For the reflector. A record that is there already with this UID and resourceVersion changes nothing. */
  upsert(current: R, from: Exclude<Origin, 'write'> = 'watch'): void {
    const { key } = current;
    const previous = this.#records.get(key);
    const origin = this.#isOwnWrite(current) && from !== 'relist' ? 'write' : from;
    if (previous === undefined) return this.#change({ type: 'added', origin, key, current });
    if (previous.uid !== current.uid) {
      this.#change({ type: 'deleted', origin: 'watch', key, previous });
      return this.#change({ type: 'added', origin, key, current });
    }
    if (previous.resourceVersion === current.resourceVersion) return;
    this.#change({ type: 'updated', origin, key, previous, current });
  }

  /** For the reflector. With a UID, a record of another UID stays. `goneAt`: as in the change. */
  remove(key: string, uid?: string, goneAt?: string): void {
    const previous = this.#records.get(key);
    if (previous === undefined || (uid !== undefined && uid !== previous.uid)) return;
    this.#change({ type: 'deleted', origin: 'watch', key, previous, ...(goneAt && { goneAt }) });
  }

  #indexOf(name: string): Index<R> {
    const index = this.#indexes.get(name);
    if (index === undefined) throw new TypeError(`the store has no index ${JSON.stringify(name)}`);
    return index;
  }

  #change(change: StoreChange<R>): void {
    const { key, previous, current } = change;
    if (current === undefined) this.#records.delete(key);
    else this.#records.set(key, current);
    for (const index of this.#indexes.values()) index.replace(previous, current);
    this.#notify(change);
  }

  #notify(change: StoreChange<R>): void {
    const errors: unknown[] = [];
    for (const listener of this.#listeners) {
      try {
        listener(change);
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw new AggregateError(errors, 'a store listener failed');
  }
}

/** Most values have one record; a Set for each would cost more memory than the records at 100,000 keys. */
class Index<R extends StoredRecord> {
  readonly #valuesOf: StoreIndex<R>;
  readonly #found = new Map<string, R | Set<R>>();

  constructor(valuesOf: StoreIndex<R>) {
    this.#valuesOf = valuesOf;
  }

  find(value: string): readonly R[] {
    const found = this.#found.get(value);
    if (found === undefined) return none;
    return found instanceof Set ? [...found] : [found];
  }

  count(value: string): number {
    const found = this.#found.get(value);
    if (found === undefined) return 0;
    return found instanceof Set ? found.size : 1;
  }

  replace(previous: R | undefined, current: R | undefined): void {
    if (previous !== undefined) for (const value of this.#valuesOf(previous)) this.#drop(value, previous);
    if (current !== undefined) for (const value of this.#valuesOf(current)) this.#put(value, current);
  }

  #put(value: string, record: R): void {
    const found = this.#found.get(value);
    if (found === undefined || found === record) this.#found.set(value, record);
    else if (found instanceof Set) found.add(record);
    else this.#found.set(value, new Set([found, record]));
  }

  #drop(value: string, record: R): void {
    const found = this.#found.get(value);
    if (found === record) this.#found.delete(value);
    if (!(found instanceof Set) || !found.delete(record)) return;
    if (found.size === 1) for (const last of found) this.#found.set(value, last);
  }
}
