import { credentialLocks } from '../api/resources.ts';
import {
  findLockAhead,
  findLocks,
  type KeyToBe,
  type LockLookup,
  type LockQuestion,
} from '../credentials/locks/find-lock.ts';
import { type LockRecord, lockKey, toLockRecord } from '../credentials/locks/lock-record.ts';
import type { LiveRecord } from '../credentials/record.ts';
import { Store } from '../kube/cache/store.ts';
import type { InformerSource } from './informers.ts';

const none: readonly never[] = [];

/** All locks, as one process knows them. A credential looks for its own by name, so their number costs no request anything. */
export class Locks {
  readonly store = new Store<LockRecord>({
    selector: ({ selector, value, subject }) => [lockKey(selector, value, subject)],
  });
  #version = 0;

  constructor() {
    this.store.subscribe(({ previous, current }) => {
      // The operator writes its status once a minute, which stops nothing.
      const isSame = previous?.uid === current?.uid && previous?.generation === current?.generation;
      if (!isSame) this.#version += 1;
    });
  }

  /** Another number whenever {@link find} may say something else, but for the end of a lock, which only gives back. */
  get version(): number {
    return this.#version;
  }

  /** A lock that stops a credential, itself or one above it. */
  find(record: LiveRecord, ancestors: readonly LiveRecord[], question: LockQuestion): LockRecord | undefined {
    return this.findAll(record, ancestors, question)[0];
  }

  /** All of them. */
  findAll(
    record: LiveRecord,
    ancestors: readonly LiveRecord[],
    question: LockQuestion,
  ): readonly LockRecord[] {
    if (this.store.size === 0) return none;
    return findLocks(record, ancestors, this.#lookup, question);
  }

  /** A lock that would stop a key as soon as it is made. */
  findAhead(key: KeyToBe, now: number): LockRecord | undefined {
    return this.store.size === 0 ? undefined : findLockAhead(key, this.#lookup, now);
  }

  readonly #lookup: LockLookup = (selector, value, subject) =>
    this.store.byIndex('selector', lockKey(selector, value, subject));

  /** Watches them. */
  source(): Pick<InformerSource<LockRecord>, 'resource' | 'store' | 'toRecord'> {
    return { resource: credentialLocks, store: this.store, toRecord: toLockRecord };
  }
}
