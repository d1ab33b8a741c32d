import { type Condition, type ConditionType, conditionTypes, findCondition } from '../../api/conditions.ts';
import { formatTimestamp } from '../../api/instant.ts';
import type { Reason } from '../../api/reasons.ts';
import { stateOf } from './state.ts';

/** The wanted content of a condition; `lastTransitionTime` and generation are added when it is written. */
export interface DesiredCondition {
  readonly reason: Reason;
  readonly message: string;
}

/** `Ready` always has a status; every other condition is true or absent. */
export type DesiredReady = DesiredCondition & { readonly status: 'True' | 'False' };

/** An object as far as its conditions are concerned. */
interface Observed {
  readonly generation: number;
  readonly observedGeneration: number;
  readonly conditions: readonly Condition[];
  /** As {@link stateOf} said it; absent where an earlier release wrote the status. */
  readonly state?: string;
}

/** `Ready`, and of the others those that are true. */
export interface DesiredConditions {
  readonly ready: DesiredReady;
  readonly others: readonly (readonly [ConditionType, DesiredCondition | undefined])[];
}

/**
 * The fields of a merge patch of `status` that bring the conditions, and the state that sums them up, to what is desired; none when
 * nothing differs.
 * `lastTransitionTime` stays as long as the status of a condition is the same.
 */
export function conditionsPatch(
  observed: Observed,
  { ready, others }: DesiredConditions,
  now: number,
): Record<string, unknown> {
  const asserted = others.flatMap(([type, condition]) =>
    condition === undefined ? [] : [{ ...condition, type, status: 'True' as const }],
  );
  const wanted = [{ type: conditionTypes.ready, ...ready }, ...asserted];
  const conditions = wanted.map((condition) => complete(observed, condition, now));
  const state = stateOf({ ready, others });
  return {
    ...(observed.state === state ? {} : { state }),
    ...(sameConditions(observed.conditions, conditions) ? {} : { conditions }),
    ...(observed.observedGeneration === observed.generation
      ? {}
      : { observedGeneration: observed.generation }),
  };
}

type WantedCondition = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

function complete(observed: Observed, wanted: WantedCondition, now: number): Condition {
  const { type, status, reason, message } = wanted;
  const present = findCondition(observed.conditions, type);
  const lastTransitionTime = present?.status === status ? present.lastTransitionTime : formatTimestamp(now);
  return { type, status, reason, message, observedGeneration: observed.generation, lastTransitionTime };
}

function sameConditions(present: readonly Condition[], wanted: readonly Condition[]): boolean {
  return (
    present.length === wanted.length &&
    wanted.every((condition) => present.some((other) => same(other, condition)))
  );
}

function same(left: Condition, right: Condition): boolean {
  return (
    left.type === right.type &&
    left.status === right.status &&
    left.reason === right.reason &&
    left.message === right.message &&
    left.observedGeneration === right.observedGeneration
  );
}
