import { conditionTypes } from '../../api/conditions.ts';
import type { TargetRecord } from '../../platform/targets/target-record.ts';
import type { TransitionEvent } from '../shared/events.ts';
import type { DesiredTargetStatus } from './desired-target-status.ts';

/** The event of the transition that the write from `record` to `desired` makes; none for anything else. */
export function targetTransitions(
  { conditions }: Pick<TargetRecord, 'conditions'>,
  { ready }: DesiredTargetStatus,
): readonly TransitionEvent[] {
  const before = conditions.find(({ type }) => type === conditionTypes.ready);
  const { status, reason, message } = ready;
  if (before?.status === status && before.reason === reason) return [];
  return status === 'True'
    ? [{ type: 'Normal', reason, action: 'Connect', note: message }]
    : [{ type: 'Warning', reason, action: 'Refuse', note: message }];
}
