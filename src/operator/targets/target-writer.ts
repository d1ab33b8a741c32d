import type { Clock } from '../../kube/clock.ts';
import { ObjectWriter, type ObjectWriterOptions } from '../shared/object-writer.ts';
import {
  type AnyTargetRecord,
  type DesiredTargetStatus,
  targetStatusPatch,
  targetTransitions,
} from './target-status.ts';

/** Writes to objects that credentials point at. */
export class TargetWriter<R extends AnyTargetRecord> extends ObjectWriter<R> {
  readonly #clock: Clock;

  constructor({ clock, ...options }: ObjectWriterOptions<R> & { readonly clock: Clock }) {
    super(options);
    this.#clock = clock;
  }

  /** Writes what differs, and an event for a transition; nothing when nothing differs. */
  writeStatus(record: R, desired: DesiredTargetStatus): Promise<R> {
    const status = targetStatusPatch(record, desired, this.#clock.now());
    return this.writeChanges(record, status, () => targetTransitions(record, desired));
  }
}
