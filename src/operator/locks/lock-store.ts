import type { LockRecord } from '../../credentials/locks/lock-record.ts';
import { MutationCache } from '../../kube/cache/mutation-cache.ts';
import type { Clock } from '../../kube/clock.ts';
import { Locks } from '../../platform/locks.ts';

/** All locks, and our own writes about them that the watch has not brought yet. */
export class LockStore extends Locks {
  readonly written: MutationCache<LockRecord>;

  constructor(clock: Clock) {
    super();
    this.written = new MutationCache(this.store, clock);
  }
}
