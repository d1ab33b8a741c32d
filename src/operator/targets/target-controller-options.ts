import type { ObjectEvents } from '../shared/events.ts';
import type { TargetConnector } from './target-connector.ts';
import type { AnyTargetRecord } from './target-status-patch.ts';
import type { TargetWriter } from './target-writer.ts';

/** What the controllers of all kinds of targets that are connected need. */
export interface TargetControllerOptions<R extends AnyTargetRecord> {
  readonly writer: TargetWriter<R>;
  readonly connector: TargetConnector;
  readonly events: Pick<ObjectEvents, 'publish'>;
  /** Hears of each finalizer that was released with something left behind. */
  readonly onReleased: () => void;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** How often each target is looked at, milliseconds. */
  readonly recheckMs: number;
  /** How long a deleted object may wait for its clean-up, milliseconds. */
  readonly limitMs: number;
}
