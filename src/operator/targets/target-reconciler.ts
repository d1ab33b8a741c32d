import type { WorkResult } from '../../kube/queue/workers.ts';
import type { RecheckSchedule } from './recheck-schedule.ts';
import type { Connection, TargetConnector } from './target-connector.ts';
import type { ConnectedRecord, TargetFinalizer } from './target-finalizer.ts';
import type { TargetStep } from './target-policy.ts';
import { connected, refused } from './target-status.ts';
import type { TargetWriter } from './target-writer.ts';

export interface TargetReconcilerOptions<R extends ConnectedRecord> {
  /** The record under a key, our own writes included. */
  readonly find: (key: string) => R | undefined;
  readonly decide: (record: R) => TargetStep;
  readonly finalizerName: string;
  readonly writer: TargetWriter<R>;
  readonly connector: TargetConnector;
  readonly finalizer: TargetFinalizer<R>;
  readonly schedule: RecheckSchedule;
}

/**
 * Makes virtual clusters and connected clusters usable, keeps them so, and cleans up behind deleted ones. The policy of
 * the kind decides, this acts.
 */
export class TargetReconciler<R extends ConnectedRecord> {
  readonly #options: TargetReconcilerOptions<R>;
  /** The UID last seen under each key: its connections are closed when the object is gone. */
  readonly #seen = new Map<string, string>();

  constructor(options: TargetReconcilerOptions<R>) {
    this.#options = options;
  }

  async reconcile(key: string): Promise<WorkResult | undefined> {
    const record = this.#options.find(key);
    this.#observe(key, record?.uid);
    return record === undefined ? undefined : this.#advance(record);
  }

  async #advance(record: R): Promise<WorkResult | undefined> {
    const { decide, writer, finalizer, finalizerName } = this.#options;
    const step = decide(record);
    switch (step.step) {
      case 'leave':
        return undefined;
      case 'addFinalizer':
        return this.#advance(await writer.addFinalizer(record, finalizerName));
      case 'finalize':
        return finalizer.finalize(record, step.connection);
      case 'connect':
        return this.#connect(record, step.connection);
      case 'commit':
        return void (await writer.writeStatus(record, step.desired));
    }
  }

  async #connect(record: R, connection: Connection): Promise<WorkResult> {
    const { connector, writer, schedule, find } = this.#options;
    const problem = await connector.connect(connection);
    const current = find(record.key);
    // A check can take seconds. Its result is reported for that very spec, or not at all.
    if (current === undefined || !isSame(record, current)) return { requeueAfterMs: 0 };
    await writer.writeStatus(current, problem === undefined ? connected(inPlace) : refused(problem));
    return problem === undefined ? schedule.afterSuccess(record.uid) : schedule.afterFailure(record.uid);
  }

  #observe(key: string, uid: string | undefined): void {
    const before = this.#seen.get(key);
    if (before === uid) return;
    if (before !== undefined) {
      this.#options.connector.forget(before);
      this.#options.schedule.forget(before);
    }
    if (uid === undefined) this.#seen.delete(key);
    else this.#seen.set(key, uid);
  }
}

const isSame = (before: ConnectedRecord, now: ConnectedRecord): boolean =>
  before.uid === now.uid && before.generation === now.generation && before.deleted === now.deleted;

const inPlace = 'The target can be used, and what Latchkey needs in it is in place.';
