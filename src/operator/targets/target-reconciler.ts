import type { WorkResult } from '../../kube/queue/workers.ts';
import { connected, refused } from './desired-target-status.ts';
import type { RecheckSchedule } from './recheck-schedule.ts';
import type { Connection, TargetConnector } from './target-connector.ts';
import type { ConnectedRecord, TargetFinalizer } from './target-finalizer.ts';
import type { TargetStep } from './target-step.ts';
import type { TargetWriter } from './target-writer.ts';

export interface TargetReconcilerOptions<R extends ConnectedRecord> {
  /** The record under a key, our own writes included. */
  readonly find: (key: string) => R | undefined;
  readonly decide: (record: R) => TargetStep;
  readonly finalizerName: string;
  readonly writer: TargetWriter<R>;
  readonly connector: TargetConnector;
  readonly finalizer: TargetFinalizer<R>;
  readonly times: RecheckSchedule;
}

/** What the controllers of virtual clusters and of clusters share: the policy of the kind decides, this does it. */
export class TargetReconciler<R extends ConnectedRecord> {
  readonly #options: TargetReconcilerOptions<R>;
  /** The UID last seen under each key: what belongs to it is let go of when it is gone. */
  readonly #seen = new Map<string, string>();

  constructor(options: TargetReconcilerOptions<R>) {
    this.#options = options;
  }

  /** Level-based: the key says which object to look at, never what happened to it. */
  async reconcile(key: string): Promise<WorkResult | undefined> {
    const record = this.#options.find(key);
    this.#meet(key, record?.uid);
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
      case 'settle':
        return void (await writer.writeStatus(record, step.desired));
    }
  }

  async #connect(record: R, connection: Connection): Promise<WorkResult> {
    const { connector, writer, times, find } = this.#options;
    const problem = await connector.connect(connection);
    const current = find(record.key);
    // A look can take seconds. What it found is said of that very spec, or not at all.
    if (current === undefined || !isSame(record, current)) return { requeueAfterMs: 0 };
    await writer.writeStatus(current, problem === undefined ? connected(inPlace) : refused(problem));
    return problem === undefined ? times.regular(record.uid) : times.failed(record.uid);
  }

  #meet(key: string, uid: string | undefined): void {
    const before = this.#seen.get(key);
    if (before === uid) return;
    if (before !== undefined) {
      this.#options.connector.forget(before);
      this.#options.times.forget(before);
    }
    if (uid === undefined) this.#seen.delete(key);
    else this.#seen.set(key, uid);
  }
}

const isSame = (before: ConnectedRecord, now: ConnectedRecord): boolean =>
  before.uid === now.uid && before.generation === now.generation && before.deleted === now.deleted;

const inPlace = 'The target can be used, and what Latchkey needs in it is in place.';
