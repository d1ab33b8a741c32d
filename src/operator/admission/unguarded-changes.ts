import type { Store, StoreChange, StoredRecord } from '../../kube/cache/store.ts';
import { isNewerVersion } from '../../kube/object.ts';

/** Rules for one kind of objects that tell which of their changes the policies have not checked. */
export interface ChangeRules<R> {
  /** The fields that only a change under the policies can alter: once it is another, such a change has come. */
  readonly contentOf: (record: R) => string;
  /** Whether this change gives it something, or makes it say something else about who asked. What only narrows does not. */
  readonly counts: (previous: R, current: R) => boolean;
  /** Whether the operator has confirmed it as it stands. */
  readonly isConfirmed: (record: R) => boolean;
  /** The same as `counts`, where only its status says what it was before. */
  readonly hasGained: (record: R) => boolean;
  /** Whether a condition says that it is not believed, so that the next operator knows. */
  readonly isNoted: (record: R) => boolean;
}

/** Whether what is made, or changed, at this moment is not judged by all the policies that it takes. */
export type IsUnguarded = (what: 'made' | 'changed') => boolean;

interface Mark<R> {
  readonly key: string;
  /** Of the object as it was then. */
  readonly content: string;
  readonly store: Pick<Store<R & StoredRecord>, 'get'>;
}

/**
 * Which objects were made or changed in a time without policies. What they say may be forged, so no right of the one that they
 * name counts. The next change that the policies judge lifts that.
 */
export class UnguardedChanges<R extends StoredRecord> {
  readonly #marks = new Map<string, Mark<R>>();
  readonly #rules: ChangeRules<R>;
  readonly #isUnguarded: IsUnguarded;
  readonly #stores: readonly Pick<Store<R>, 'subscribe' | 'values' | 'get'>[];
  /** Later objects were written in a time without policies, as far as anyone knows. */
  #watchedUntil: string | undefined;

  constructor(
    stores: readonly Pick<Store<R>, 'subscribe' | 'values' | 'get'>[],
    rules: ChangeRules<R>,
    isUnguarded: IsUnguarded,
  ) {
    this.#stores = stores;
    this.#rules = rules;
    this.#isUnguarded = isUnguarded;
    for (const store of stores) store.subscribe((change) => this.#observe(store, change));
  }

  has(record: R): boolean {
    return this.#marks.get(record.uid)?.content === this.#rules.contentOf(record);
  }

  /**
   * The policies are not those that the last leader saw, and it watched until this resourceVersion. To be called before anything
   * is confirmed.
   */
  distrustSince(resourceVersion: string): void {
    this.#watchedUntil = resourceVersion;
    for (const store of this.#stores)
      for (const record of store.values()) if (this.#isUnwatched(record)) this.#mark(store, record);
  }

  /** Whether only this process knows of some of them yet. */
  hasUnnoted(): boolean {
    return [...this.#marks].some(([uid, { key, store }]) => {
      const record = store.get(key);
      return record?.uid === uid && this.has(record) && !this.#rules.isNoted(record);
    });
  }

  #observe(store: Pick<Store<R>, 'get'>, { origin, previous, current }: StoreChange<R>): void {
    if (current === undefined) this.#marks.delete(previous?.uid ?? '');
    else if (previous === undefined) this.#meet(store, current, origin === 'list');
    else this.#compare(store, previous, current);
  }

  /** A new leader meets everything for the first time. What was confirmed before must not end because a policy is away then. */
  #meet(store: Pick<Store<R>, 'get'>, record: R, isListed: boolean): void {
    const isUnguarded = !this.#rules.isConfirmed(record) && this.#isUnguarded('made');
    if (isUnguarded || (isListed && this.#isUnwatched(record))) this.#mark(store, record);
  }

  #compare(store: Pick<Store<R>, 'get'>, previous: R, current: R): void {
    const { counts, isNoted, contentOf } = this.#rules;
    const isMarked = this.#marks.has(current.uid) || isNoted(previous);
    const isChange = counts(previous, current);
    if (!isChange && !isMarked) return;
    // One that is not believed stays so, whatever else becomes of it meanwhile.
    if (this.#isUnguarded('changed')) this.#mark(store, current);
    else if (this.#marks.get(current.uid)?.content !== contentOf(current)) this.#marks.delete(current.uid);
  }

  #isUnwatched(record: R): boolean {
    if (this.#watchedUntil === undefined) return false;
    return isNewerVersion(record.resourceVersion, this.#watchedUntil) && this.#rules.hasGained(record);
  }

  #mark(store: Pick<Store<R>, 'get'>, record: R): void {
    this.#marks.set(record.uid, { key: record.key, content: this.#rules.contentOf(record), store });
  }
}
