import { LatchkeyError } from '../../errors.ts';
import type { Store, StoreChange, StoredRecord } from '../../kube/cache/store.ts';
import { isNewerVersion, newerVersion } from '../../kube/object.ts';
import type { Guarded, PolicyHistory } from './policy-history.ts';

/** Rules for one kind of objects that tell which of their changes the policies have not checked. */
export interface ChangeRules<R> {
  /** The facts that policies guard when it is made, and when it is changed. */
  readonly guarded: { readonly made: Guarded; readonly changed: Guarded };
  /** The fields that only a change under the policies can alter: once it is another, such a change has come. */
  readonly contentOf: (record: R) => string;
  /**
   * Whether this change gives the object something, or makes it say something else about who asked. A mere narrowing does not count.
   * `isRecorded`: the object tells the truth about who asked.
   */
  readonly counts: (previous: R, current: R, isRecorded: boolean) => boolean;
  /** Whether the operator has confirmed it as it stands. */
  readonly isConfirmed: (record: R) => boolean;
  /** The same as `counts`, where only its status says what it was before. */
  readonly hasGained: (record: R) => boolean;
  /** Whether a condition says that it is not believed, so that the next operator knows. */
  readonly isNoted: (record: R) => boolean;
}

/** When something was written: at this resourceVersion, or at some time after the earlier one. */
interface Written {
  readonly at: string;
  readonly since?: string;
}

interface Change extends Written {
  readonly counts: boolean;
  /** The same where what it says of who asked may be false. */
  readonly countsUnrecorded: boolean;
}

/** An object that is not checked yet, and what befell it. */
interface Pending<R> {
  readonly record: R;
  readonly store: ReadStore<R>;
  readonly made?: Written;
  /** In their order. */
  readonly changes: readonly Change[];
}

/** Of one object. Beyond it they count as one, of which no one knows the time. */
const maxChanges = 100;

type ReadStore<R> = Pick<
  Store<R & StoredRecord>,
  'subscribe' | 'subscribeToLateWrites' | 'values' | 'get' | 'position'
>;

interface Mark<R> {
  readonly key: string;
  readonly resourceVersion: string;
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
  /** The newest version among them: one question serves all that has arrived. */
  #newest = '0';
  #latest = '0';
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
    for (const store of stores) {
      store.subscribe((change) => this.#observe(store, change));
      store.subscribeToLateWrites((written) => this.#excuse(written));
    }
  }

  /** The newest version of all objects that have arrived. */
  get latest(): string {
    return this.#latest;
  }

  /** To be asked once {@link judged} has resolved for this version. An older version than the one that was found is not believed either. */
  has(record: R): boolean {
    const mark = this.#marks.get(record.uid);
    if (mark === undefined) return false;
    const isOlder = !isNewerVersion(record.resourceVersion, mark.resourceVersion);
    return isOlder || mark.content === this.#rules.contentOf(record);
  }

  /**
   * Resolves once it is known of this version whether the policies have judged it. Throws what {@link PolicyHistory.known} does, and
   * `ERR_ADMISSION_UNSEEN` for an object that no watch has brought: nothing new may come of it then. `isRead`: it comes from a request, so
   * others may have changed it since the version that a watch has brought.
   */
  async judged(record: R, isRead = false): Promise<void> {
    const { uid, key } = record;
    const store = this.#stores.find((each) => each.get(key)?.uid === uid);
    const known = store?.get(key);
    if (store === undefined || known === undefined) throw new LatchkeyError('ERR_ADMISSION_UNSEEN', {});
    if (isRead && isNewerVersion(record.resourceVersion, known.resourceVersion))
      this.#compare(store, [known, record], { at: record.resourceVersion, since: known.resourceVersion });
    const pending = this.#pending.get(uid);
    if (pending === undefined) return;
    await this.#history.known(this.#guardOf(pending), this.#newest);
    this.#judge();
    // It was changed meanwhile, and comes again for that.
    if (this.#pending.has(uid)) throw new LatchkeyError('ERR_ADMISSION_UNSEEN', {});
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
    if (current !== undefined) this.#latest = newerVersion(current.resourceVersion, this.#latest);
    if (current === undefined) this.#forget(previous?.uid ?? '');
    else if (previous === undefined) this.#meet(store, current, origin);
    // Its precondition is the version before, so no one else has changed anything by it.
    else if (origin !== 'write') this.#compare(store, [previous, current], writtenIn(store, change));
  }

  /** A change that waits turns out to be the operator's own. */
  #excuse({ uid, resourceVersion }: R): void {
    const pending = this.#pending.get(uid);
    if (pending === undefined) return;
    const changes = pending.changes.filter(({ at, since }) => at !== resourceVersion || since !== undefined);
    if (changes.length > 0 || pending.made !== undefined) this.#pending.set(uid, { ...pending, changes });
    else this.#pending.delete(uid);
  }

  /** A new leader meets everything for the first time. What was confirmed before must not end because a policy is away then. */
  #meet(store: ReadStore<R>, current: R, origin: StoreChange<R>['origin']): void {
    if (origin === 'list' && this.#isUnwatched(current)) this.#mark(store, current);
    if (!this.#rules.isConfirmed(current))
      this.#wait(store, current, { made: writtenIn(store, { origin, current }) });
  }

  #compare(store: ReadStore<R>, [previous, current]: readonly [R, R], written: Written): void {
    const { counts: isCounted, isNoted, contentOf } = this.#rules;
    const isMarked = this.#marks.has(current.uid) || isNoted(previous);
    // One that is not believed stays so, whatever else becomes of it meanwhile.
    const mayLift = isMarked && contentOf(previous) !== contentOf(current);
    const counts = mayLift || isCounted(previous, current, true);
    const countsUnrecorded = mayLift || isCounted(previous, current, false);
    if (counts || countsUnrecorded)
      this.#wait(store, current, { change: { ...written, counts, countsUnrecorded } });
  }

  #wait(store: ReadStore<R>, record: R, { made, change }: { made?: Written; change?: Change }): void {
    const before = this.#pending.get(record.uid);
    const changes = withChange(before?.changes ?? [], change);
    this.#pending.set(record.uid, { ...before, store, record, changes, ...(made && { made }) });
    this.#newest = newerVersion(record.resourceVersion, this.#newest);
  }

  /** All of which enough is known. */
  #judge(): void {
    for (const [uid, pending] of this.#pending) {
      const { store, record, changes } = pending;
      if (!this.#history.isKnown(this.#guardOf(pending), record.resourceVersion)) continue;
      this.#pending.delete(uid);
      const stored = store.get(record.key);
      if (stored?.uid !== uid) continue;
      const current = isNewerVersion(record.resourceVersion, stored.resourceVersion) ? record : stored;
      if (this.#isUnguarded(pending)) this.#mark(store, current);
      else if (changes.length > 0 && this.#marks.get(uid)?.content !== this.#rules.contentOf(current))
        this.#marks.delete(uid);
    }
  }

  /** The policies that guard a change guard a new object, too. */
  #guardOf({ changes }: Pending<R>): Guarded {
    const { made, changed } = this.#rules.guarded;
    return changes.length > 0 ? changed : made;
  }

  #isUnguarded({ made, changes }: Pending<R>): boolean {
    const { guarded } = this.#rules;
    const isUnguarded = (what: Guarded, { at, since }: Written) =>
      this.#history.wasUnguarded(what, at, since);
    if (made !== undefined && isUnguarded(guarded.made, made)) return true;
    return changes.some((change) => {
      const counts = isUnguarded('records', change) ? change.countsUnrecorded : change.counts;
      return counts && isUnguarded(guarded.changed, change);
    });
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
    const { uid, key, resourceVersion } = record;
    this.#marks.set(uid, { key, resourceVersion, content: this.#rules.contentOf(record), store });
  }
}

/** A watch brings each change by itself. What a later list brings was written at some time since the watch, and since it was there last. */
function writtenIn<R extends StoredRecord>(
  { position = '0' }: Pick<Store<R>, 'position'>,
  { origin, current, previous }: Pick<StoreChange<R>, 'origin' | 'current' | 'previous'>,
): Written {
  const at = current?.resourceVersion ?? '0';
  if (origin !== 'relist') return { at };
  return { at, since: newerVersion(position, previous?.resourceVersion ?? '0') };
}

function withChange(changes: readonly Change[], change: Change | undefined): readonly Change[] {
  if (change === undefined) return changes;
  if (changes.length < maxChanges) return [...changes, change];
  return [{ at: change.at, since: '0', counts: true, countsUnrecorded: true }];
}
