import type { WorkResult } from '../../kube/queue/workers.ts';
import type { ConnectedRecord } from '../../platform/targets/target-record.ts';
import { isWithSecret, kubeConfigOf } from '../../platform/targets/target-reference.ts';
import type { TargetStep } from './decide-target.ts';
import type { RecheckSchedule } from './recheck-schedule.ts';
import type { CheckedReference, ReferenceCheck } from './reference-check.ts';
import type { ReferenceUIDs } from './reference-review.ts';
import type { Connection, TargetConnector } from './target-connector.ts';
import type { TargetFinalizer } from './target-finalizer.ts';
import { connected, type DesiredTargetStatus, refused } from './target-status.ts';
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
  readonly references: Pick<ReferenceCheck, 'check'>;
  /** UIDs of what the spec names. */
  readonly uidsOf: (record: R) => Promise<ReferenceUIDs>;
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

  async #connect(record: R, connection: Connection): Promise<WorkResult | undefined> {
    const { schedule } = this.#options;
    const checked = await this.#check(record, connection);
    if ('problem' in checked) return this.#refuse(record, connection, checked);
    const { reference: confirmed } = checked;
    const kubeConfig = isWithSecret(confirmed) ? kubeConfigOf(record, confirmed) : connection.kubeConfig;
    const problem = await this.#options.connector.connect({ ...connection, kubeConfig });
    const desired = problem === undefined ? connected(inPlace) : refused(problem);
    if (!(await this.#report(record, { ...desired, confirmed }))) return { requeueAfterMs: 0 };
    return problem === undefined ? schedule.afterSuccess(record.uid) : schedule.afterFailure(record.uid);
  }

  async #check(record: R, connection: Connection): Promise<CheckedReference> {
    const { references, uidsOf, connector } = this.#options;
    // Only what an earlier release has connected has no confirmed reference and something of a connection.
    const wasEntered = record.confirmed === undefined && (await connector.wasEntered(connection));
    return references.check(record, await uidsOf(record), wasEntered);
  }

  /** A connected target stays so, with the reference that was confirmed. */
  async #refuse(
    record: R,
    connection: Connection,
    { problem, waitMs }: Extract<CheckedReference, { readonly problem: unknown }>,
  ): Promise<WorkResult | undefined> {
    if (record.confirmed !== undefined) await this.#options.connector.connect(connection);
    if (!(await this.#report(record, refused(problem)))) return { requeueAfterMs: 0 };
    return waitMs === undefined ? undefined : { requeueAfterMs: waitMs };
  }

  /** A check can take seconds. Its result is reported for that very spec, or not at all. */
  async #report(record: R, desired: DesiredTargetStatus): Promise<boolean> {
    const { writer, find } = this.#options;
    const current = find(record.key);
    if (current === undefined || !isSame(record, current)) return false;
    await writer.writeStatus(current, desired);
    return true;
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
