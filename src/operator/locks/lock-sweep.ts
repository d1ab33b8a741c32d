import { conditionTypes, findCondition } from '../../api/conditions.ts';
import { reasons } from '../../api/reasons.ts';
import { resolveAncestors } from '../../credentials/ancestors.ts';
import type { LockRecord } from '../../credentials/locks/lock-record.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import type { Locks } from '../../platform/locks.ts';
import type { CredentialStores } from '../credentials/credential-stores.ts';
import { lockedBy } from '../credentials/lineage.ts';

export interface LockSweepOptions {
  readonly locks: Pick<Locks, 'findAll' | 'store'>;
  readonly stores: Pick<CredentialStores, 'credentials' | 'key'>;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Puts a credential into its queue, whose status says otherwise. */
  readonly enqueue: (record: CredentialRecord) => void;
  /** All are counted. */
  readonly onCounted: () => void;
}

/** How many credentials are compared with the locks before others have their turn: about a millisecond. */
const turnSize = 500;

/**
 * Goes through all credentials, in turns: enqueues those whose status does not say yet what the locks make of them, and counts
 * what each lock stops. Only changes of locks and their ends make it necessary; what changes of a credential, its own decision sees.
 */
export class LockSweep {
  readonly #options: LockSweepOptions;
  #counts: ReadonlyMap<string, number> = new Map();
  #isRunning = false;
  #isAsked = false;

  constructor(options: LockSweepOptions) {
    this.#options = options;
  }

  /** Of the lock with this UID; undefined before it was counted. */
  countOf(uid: string): number | undefined {
    return this.#counts.get(uid);
  }

  /** Begins as soon as others had their turn: what comes meanwhile is part of it. */
  request(): void {
    this.#isAsked = true;
    if (this.#isRunning) return;
    this.#isRunning = true;
    setImmediate(() => this.#begin());
  }

  #begin(): void {
    this.#isAsked = false;
    const { locks, stores } = this.#options;
    this.#countBatch(allOf(stores), new Map([...locks.store.values()].map(({ uid }) => [uid, 0])));
  }

  #countBatch(left: Iterator<CredentialRecord>, counts: Map<string, number>): void {
    for (let count = 0; count < turnSize; count += 1) {
      const { done, value } = left.next();
      if (done === true) return this.#end(counts);
      this.#compare(value, counts);
    }
    setImmediate(() => this.#countBatch(left, counts));
  }

  #end(counts: ReadonlyMap<string, number>): void {
    this.#counts = counts;
    this.#options.onCounted();
    if (this.#isAsked) setImmediate(() => this.#begin());
    else this.#isRunning = false;
  }

  #compare(record: CredentialRecord, counts: Map<string, number>): void {
    const { locks, stores, now, enqueue } = this.#options;
    const found = resolveAncestors(record, (name) => stores.key(name), { firstIssue: true });
    const ancestors = 'ancestors' in found ? found.ancestors : [];
    const at = now();
    const stopping = locks.findAll(record, ancestors, { now: at });
    if (isOutdated(record, stopping[0])) enqueue(record);
    if (!wouldWork(record, at)) return;
    for (const { uid } of stopping) counts.set(uid, (counts.get(uid) ?? 0) + 1);
  }
}

/** Certificates first: no one but the operator can stop them. */
function* allOf({ credentials }: Pick<CredentialStores, 'credentials'>): Generator<CredentialRecord> {
  for (const store of [...credentials].reverse()) yield* store.values();
}

/** Another reason that it does not work comes first, and is not written again for a lock. */
function isOutdated({ conditions }: CredentialRecord, lock: LockRecord | undefined): boolean {
  const ready = findCondition(conditions, conditionTypes.ready);
  if (ready?.reason === reasons.locked) return lock === undefined || ready.message !== lockedBy(lock).message;
  return lock !== undefined && ready?.status === 'True';
}

function wouldWork({ status, disabled, deleted }: CredentialRecord, now: number): boolean {
  const { fingerprint, notAfter, expirationTimestamp } = status;
  if (fingerprint === undefined || disabled || deleted !== undefined) return false;
  return now < (notAfter ?? expirationTimestamp ?? Number.POSITIVE_INFINITY);
}
