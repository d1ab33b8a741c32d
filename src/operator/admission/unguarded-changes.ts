import type { Store, StoreChange, StoredRecord } from '../../kube/cache/store.ts';
import { isNewerVersion } from '../../kube/object.ts';
import type { Guarded, PolicyHistory } from './policy-history.ts';

/** Rules for one kind of objects that tell which of their changes the policies have not checked. */
export interface ChangeRules<R> {
  /** What guards it when it is made, and when it is changed. */
  readonly guarded: { readonly made: Guarded; readonly changed: Guarded };
  /** The fields that only a change under the policies can alter: once it is another, such a change has come. */
  readonly contentOf: (record: R) => string;
  /**
   * Whether this change gives it something, or makes it say something else about who asked. What only narrows does not.
   * `isRecorded`: what it says of who asked is true.
   */
  readonly counts: (previous: R, current: R, isRecorded: boolean) => boolean;
  /** Whether the operator has confirmed it as it stands. */
  readonly isConfirmed: (record: R) => boolean;
  /** The same as `counts`, where only its status says what it was before. */
  readonly hasGained: (record: R) => boolean;
  /** Whether a condition says that it is not believed, so that the next operator knows. */
  readonly isNoted: (record: R) => boolean;
}

/** What befell an object that is not judged yet. */
interface Writes {
  readonly made?: Versions;
  readonly changed?: Versions & { readonly counts: boolean; readonly countsUnrecorded: boolean };
}

interface Pending<R> extends Writes {
  readonly record: R;
  readonly store: ReadStore<R>;
}

/** When something was written: at one of these resourceVersions, the first and the last included. */
interface Versions {
  readonly first: string;
  readonly last: string;
}

type ReadStore<R> = Pick<Store<R & StoredRecord>, 'subscribe' | 'values' | 'get'>;

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
  /** By UID. */
  readonly #pending = new Map<string, Pending<R>>();
  readonly #rules: ChangeRules<R>;
  readonly #history: Pick<PolicyHistory, 'wasUnguarded' | 'known' | 'isKnown'>;
  readonly #stores: readonly ReadStore<R>[];
  /** The newest version that the watch of a store has brought: all before it has come. */
  readonly #positions = new Map<ReadStore<R>, string>();
  /** Later objects were written in a time without policies, as far as anyone knows. */
  #watchedUntil: string | undefined;

  constructor(
    stores: readonly ReadStore<R>[],
    rules: ChangeRules<R>,
    history: Pick<PolicyHistory, 'wasUnguarded' | 'known' | 'isKnown'>,
  ) {
    this.#stores = stores;
    this.#rules = rules;
    this.#history = history;
    for (const store of stores) store.subscribe((change) => this.#observe(store, change));
  }

  /** To be asked once it {@link judged} this version. */
  has(record: R): boolean {
    return this.#marks.get(record.uid)?.content === this.#rules.contentOf(record);
  }

  /**
   * Resolves once it is known of this version whether the policies have judged it. Throws what {@link PolicyHistory.known} does, and then
   * nothing new may come of the object.
   */
  async judged(record: R): Promise<void> {
    this.#meetUnwatched(record);
    const pending = this.#pending.get(record.uid);
    if (pending === undefined) return;
    await this.#history.known(lastOf(pending));
    this.#judge();
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
    this.#judge();
    return [...this.#marks].some(([uid, { key, store }]) => {
      const record = store.get(key);
      return record?.uid === uid && this.has(record) && !this.#rules.isNoted(record);
    });
  }

  #observe(store: ReadStore<R>, change: StoreChange<R>): void {
    const { origin, previous, current } = change;
    if (current === undefined) this.#forget(previous?.uid ?? '');
    else if (previous === undefined) this.#meet(store, current, change);
    else this.#compare(store, previous, current, this.#versionsOf(store, change));
    // A list brings what there is in no order.
    if (current !== undefined && origin !== 'relist') this.#reach(store, current.resourceVersion);
  }

  /** A new leader meets everything for the first time. What was confirmed before must not end because a policy is away then. */
  #meet(store: ReadStore<R>, current: R, change: StoreChange<R>): void {
    if (change.origin === 'list' && this.#isUnwatched(current)) this.#mark(store, current);
    if (!this.#rules.isConfirmed(current))
      this.#wait(store, current, { made: this.#versionsOf(store, change) });
  }

  /** Decided on before a watch brings it: it was read. Others may have changed it meanwhile. */
  #meetUnwatched(record: R): void {
    const store = this.#stores.find((each) => each.get(record.key)?.uid === record.uid);
    const known = store?.get(record.key);
    if (store === undefined || known === undefined) return;
    if (!isNewerVersion(record.resourceVersion, known.resourceVersion)) return;
    this.#compare(store, known, record, { first: known.resourceVersion, last: record.resourceVersion });
  }

  #compare(store: ReadStore<R>, previous: R, current: R, versions: Versions): void {
    const { counts: isCounted, isNoted, contentOf } = this.#rules;
    const [counts, countsUnrecorded] = [true, false].map((isRecorded) =>
      isCounted(previous, current, isRecorded),
    );
    const isMarked = this.#marks.has(current.uid) || isNoted(previous);
    const mayLift = isMarked && contentOf(previous) !== contentOf(current);
    if (!counts && !countsUnrecorded && !mayLift) return;
    // One that is not believed stays so, whatever else becomes of it meanwhile.
    const changed = { ...versions, counts: counts || mayLift, countsUnrecorded: countsUnrecorded || mayLift };
    this.#wait(store, current, { changed });
  }

  #wait(store: ReadStore<R>, record: R, { made, changed }: Writes): void {
    const before = this.#pending.get(record.uid);
    const all = changed && {
      first: before?.changed?.first ?? changed.first,
      last: changed.last,
      counts: changed.counts || before?.changed?.counts === true,
      countsUnrecorded: changed.countsUnrecorded || before?.changed?.countsUnrecorded === true,
    };
    this.#pending.set(record.uid, {
      ...before,
      ...{ store, record },
      ...(made && { made }),
      ...(all && { changed: all }),
    });
  }

  /** All of which enough is known. */
  #judge(): void {
    for (const [uid, pending] of this.#pending) {
      if (!this.#history.isKnown(lastOf(pending))) continue;
      this.#pending.delete(uid);
      const { store, record, changed } = pending;
      const stored = store.get(record.key);
      if (stored?.uid !== uid) continue;
      const current = isNewerVersion(record.resourceVersion, stored.resourceVersion) ? record : stored;
      if (this.#isUnguarded(pending)) this.#mark(store, current);
      else if (changed !== undefined && this.#marks.get(uid)?.content !== this.#rules.contentOf(current))
        this.#marks.delete(uid);
    }
  }

  #isUnguarded({ made, changed }: Writes): boolean {
    const { guarded } = this.#rules;
    const isUnguarded = (what: Guarded, { first, last }: Versions) =>
      this.#history.wasUnguarded(what, first, last);
    if (made !== undefined && isUnguarded(guarded.made, made)) return true;
    if (changed === undefined) return false;
    const counts = isUnguarded('records', changed) ? changed.countsUnrecorded : changed.counts;
    return counts && isUnguarded(guarded.changed, changed);
  }

  /** A watch brings each change by itself. What a later list brings was written at some time since. */
  #versionsOf(store: ReadStore<R>, { origin, current, previous }: StoreChange<R>): Versions {
    const last = current?.resourceVersion ?? '0';
    if (origin !== 'relist') return { first: last, last };
    const [known = '0', before = '0'] = [this.#positions.get(store), previous?.resourceVersion];
    return { first: isNewerVersion(known, before) ? known : before, last };
  }

  #reach(store: ReadStore<R>, resourceVersion: string): void {
    const before = this.#positions.get(store);
    if (before === undefined || isNewerVersion(resourceVersion, before))
      this.#positions.set(store, resourceVersion);
  }

  #forget(uid: string): void {
    this.#marks.delete(uid);
    this.#pending.delete(uid);
  }

  #isUnwatched(record: R): boolean {
    if (this.#watchedUntil === undefined) return false;
    return isNewerVersion(record.resourceVersion, this.#watchedUntil) && this.#rules.hasGained(record);
  }

  #mark(store: Pick<Store<R>, 'get'>, record: R): void {
    this.#marks.set(record.uid, { key: record.key, content: this.#rules.contentOf(record), store });
  }
}

const lastOf = ({ made, changed }: Writes): string => (changed ?? made)?.last ?? '0';
