import type { Clock } from '../../kube/clock.ts';
import type { ObjectEvents } from '../shared/events.ts';
import { ObjectWriter, type ObjectWriterOptions } from '../shared/object-writer.ts';
import {
  type AnyTargetRecord,
  type DesiredTargetStatus,
  targetStatusPatch,
  targetTransitions,
} from './target-status.ts';

export interface TargetWriterOptions<R extends AnyTargetRecord> extends ObjectWriterOptions<R> {
  readonly events: Pick<ObjectEvents, 'publish'>;
  readonly clock: Clock;
}

/** Writes to objects that credentials point at. */
export class TargetWriter<R extends AnyTargetRecord> extends ObjectWriter<R> {
  readonly #events: Pick<ObjectEvents, 'publish'>;
  readonly #clock: Clock;

  constructor({ events, clock, ...options }: TargetWriterOptions<R>) {
    super(options);
    this.#events = events;
    this.#clock = clock;
  }

  /** Writes what differs, and an event for a transition; nothing when nothing differs. */
  async writeStatus(record: R, desired: DesiredTargetStatus): Promise<R> {
    const status = targetStatusPatch(record, desired, this.#clock.now());
    if (status === undefined) return record;
    const written = await this.patchStatus(record, status);
    this.#events.publish(record, targetTransitions(record, desired));
    return written;
  }
}
