import { conditionTypes, findCondition } from '../../api/conditions.ts';
import { type Reason, reasons } from '../../api/reasons.ts';
import type { WorkResult } from '../../kube/queue/workers.ts';
import type { ConnectedRecord } from '../../platform/targets/target-record.ts';
import { finalizerReleased, type ObjectEvents, type TransitionEvent } from '../shared/events.ts';
import type { Connection, Disconnection, TargetConnector } from './target-connector.ts';
import { terminating } from './target-status.ts';
import type { TargetWriter } from './target-writer.ts';

export interface TargetFinalizerOptions<R extends ConnectedRecord> {
  readonly finalizer: string;
  readonly connector: Pick<TargetConnector, 'disconnect' | 'wasEntered'>;
  readonly writer: TargetWriter<R>;
  readonly events: Pick<ObjectEvents, 'publish'>;
  /** Whether something else still needs this object in order to be revoked. */
  readonly isAwaited: (record: R) => boolean;
  /** Called for each release that may leave something behind. */
  readonly onReleased: () => void;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Since when this process works on objects, epoch milliseconds: time without an operator does not count. */
  readonly workingSince: () => number;
  /** How long the object may wait for its clean-up, milliseconds. */
  readonly limitMs: number;
}

/** Reasons that speak of something in the target although its Secret is missing: somebody else deleted that. */
const inside: readonly Reason[] = [reasons.connected, reasons.secretFailed, reasons.deleting];

/** How often a clean-up that waits or failed is tried again. */
const retryMs = 1_000;

/** Takes back what was made in a deleted target, then lets its object go; at the time limit it goes in any case. */
export class TargetFinalizer<R extends ConnectedRecord> {
  readonly #options: TargetFinalizerOptions<R>;

  constructor(options: TargetFinalizerOptions<R>) {
    this.#options = options;
  }

  async finalize(record: R, connection: Connection | undefined): Promise<WorkResult | undefined> {
    const { writer, isAwaited, now, workingSince, limitMs, finalizer } = this.#options;
    const deadline = Math.max(record.deleted ?? now(), workingSince()) + limitMs;
    if (connection !== undefined && !isAwaited(record) && (await this.#isUntouched(record, connection))) {
      await writer.removeFinalizer(record, finalizer);
      return this.#report(record, true);
    }
    const current = await writer.writeStatus(record, terminating);
    const cleaned = connection === undefined ? 'gone' : await this.#clean(connection, now() >= deadline);
    // Only this object says where the target is: whatever still has to be revoked there needs it.
    const done = connection === undefined || (isOver(cleaned) && !isAwaited(current));
    if (!done && now() < deadline) return { requeueAfterMs: retryMs };
    await writer.removeFinalizer(current, finalizer);
    return this.#report(current, done);
  }

  /** Nothing was made in a target that was never entered: there is nothing to wait for, and nothing that could be left. */
  async #isUntouched({ conditions }: R, connection: Connection): Promise<boolean> {
    const reason = findCondition(conditions, conditionTypes.ready)?.reason as Reason | undefined;
    const saysOtherwise = reason !== undefined && inside.includes(reason);
    return !saysOtherwise && !(await this.#options.connector.wasEntered(connection));
  }

  /** The last try, at the limit, must not stand in the way of the release. */
  async #clean(connection: Connection, last: boolean): Promise<Disconnection> {
    try {
      return await this.#options.connector.disconnect(connection);
    } catch (error) {
      if (!last) throw error;
      return 'failed';
    }
  }

  #report(record: R, isClean: boolean): undefined {
    const { events, onReleased } = this.#options;
    events.publish(record, isClean ? [targetDeleted] : [targetDeleted, somethingLeft]);
    if (!isClean) onReleased();
  }
}

const isOver = (cleaned: Disconnection): boolean => cleaned === 'clean' || cleaned === 'gone';

const targetDeleted: TransitionEvent = {
  type: 'Normal',
  reason: reasons.deleted,
  action: 'Delete',
  note: 'The object was deleted.',
};
const somethingLeft = finalizerReleased('something that Latchkey made in the target');
