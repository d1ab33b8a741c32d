import type { Confirmation } from '../../credentials/record.ts';
import type { DesiredCondition, DesiredReady } from '../shared/conditions.ts';

/** The status that an object should have. `lastActivity` is never part of it: it belongs to the gateway. */
export interface DesiredStatus {
  readonly confirmation: Confirmation;
  readonly ready: DesiredReady;
  /** Present while something that the operator waits for is missing. */
  readonly reconciling?: DesiredCondition;
  /** Present when nothing changes until a person changes something. */
  readonly stalled?: DesiredCondition;
  readonly expiringSoon?: DesiredCondition;
  readonly rotationNotPossible?: DesiredCondition;
  /** The credential as it stands in status: absent leaves it, null removes it. */
  readonly credential?: string | null;
}
