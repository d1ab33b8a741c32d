import { type KubeObject, keyOf } from '../object.ts';
import type { TimeSlice } from '../time-slice.ts';
import type { ReflectorOptions } from './reflector-options.ts';
import type { StoredRecord } from './store.ts';

type Options<R extends StoredRecord> = Pick<ReflectorOptions<R>, 'toRecord' | 'store' | 'log' | 'resource'>;

interface Gone {
  readonly key: string;
  readonly uid?: string;
  readonly resourceVersion: string;
}

/** Brings objects from lists and watches into a store, as slim records. */
export class StoreFeed<R extends StoredRecord> {
  readonly #options: Options<R>;
  /** Keys met since the present list began; absent: no list runs. */
  #seen: Set<string> | undefined;
  #hasListed = false;

  constructor(options: Options<R>) {
    this.#options = options;
  }

  get isListing(): boolean {
    return this.#seen !== undefined;
  }

  beginList(): void {
    this.#seen = new Set();
    this.#options.store.beginList();
  }

  /** Nothing that it has not brought is taken for deleted. */
  giveUpList(): void {
    this.#seen = undefined;
  }

  /** The list is complete: what it has not brought is gone. */
  async endList(resourceVersion: string, slice: TimeSlice): Promise<void> {
    for (const key of this.#options.store.keys()) {
      if (!this.#seen?.has(key)) this.remove({ key, resourceVersion });
      if (slice.used) await slice.yield();
    }
    this.#seen = undefined;
    this.#hasListed = true;
    this.#options.store.setUnserved(false);
    this.#options.store.completeList(resourceVersion);
  }

  /** All up to here has come. */
  reach(resourceVersion: string): void {
    this.#options.store.reach(resourceVersion);
  }

  /** The server does not know the kind. What was listed before and is gone since came as deleted. */
  noteUnserved(): void {
    if (!this.#hasListed) this.#options.store.setUnserved(true);
  }

  upsert(object: KubeObject): void {
    const record = this.#toRecord(object);
    if (record === undefined) return this.remove({ key: keyOf(object.metadata), ...object.metadata });
    this.#seen?.add(record.key);
    const from = this.#hasListed ? 'relist' : 'list';
    this.#change(() => this.#options.store.upsert(record, this.isListing ? from : 'watch'));
  }

  /** `resourceVersion`: at which it was not there any more. */
  remove({ key, uid, resourceVersion }: Gone): void {
    this.#seen?.delete(key);
    this.#change(() => this.#options.store.remove(key, uid, resourceVersion));
  }

  #toRecord(object: KubeObject): R | undefined {
    try {
      return this.#options.toRecord(object);
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

  /** Listeners are not ours: one that throws must not cost the rest of the stream. */
  #change(change: () => void): void {
    try {
      change();
    } catch (error) {
      this.#options.log.error({ kind: this.#options.resource.kind, err: error }, 'store listener failed');
    }
  }
}
