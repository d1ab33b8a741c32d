import { isInForce, type LockRecord } from '../../credentials/locks/lock-record.ts';
import type { Clock } from '../../kube/clock.ts';
import type { WorkResult } from '../../kube/queue/workers.ts';
import { ObjectWriter, type ObjectWriterOptions } from '../shared/object-writer.ts';
import { lockStatus, lockStatusPatch, lockTransitions } from './lock-status.ts';
import type { LockStore } from './lock-store.ts';
import type { LockSweep } from './lock-sweep.ts';

/** Credentials come and go, and no one waits for their number. */
const recountMs = 60_000;

export interface LockControllerOptions extends Omit<ObjectWriterOptions<LockRecord>, 'records'> {
  readonly locks: LockStore;
  readonly sweep: Pick<LockSweep, 'countOf' | 'request'>;
  readonly clock: Clock;
}

/** Says how a lock is, and has credentials looked at again when it ends. The decisions about these obey it by themselves. */
export class LockController extends ObjectWriter<LockRecord> {
  readonly #options: LockControllerOptions;
  /** When each is to be counted again, by UID, epoch milliseconds. */
  readonly #due = new Map<string, number>();

  constructor(options: LockControllerOptions) {
    super({ ...options, records: options.locks.written });
    this.#options = options;
    options.locks.store.subscribe(({ previous, current }) => {
      if (current === undefined && previous !== undefined) this.#due.delete(previous.uid);
    });
  }

  async reconcile(name: string): Promise<WorkResult | undefined> {
    const { locks, sweep, clock } = this.#options;
    const record = locks.written.get(name);
    if (record === undefined) return undefined;
    const now = clock.now();
    const due = this.#due.get(record.uid);
    if (due !== undefined && now >= due) sweep.request();
    const desired = lockStatus(record, sweep.countOf(record.uid), now);
    const patch = lockStatusPatch(record, desired, now);
    await this.writeChanges(record, patch, () => lockTransitions(record, desired));
    if (!isInForce(record, now)) return undefined;
    const next = due !== undefined && now < due ? due : now + recountMs;
    const at = Math.min(next, record.end ?? next);
    this.#due.set(record.uid, at);
    return { requeueAfterMs: at - now };
  }
}
