import { conditionTypes, findCondition } from '../../api/conditions.ts';
import { reasons } from '../../api/reasons.ts';
import type { TargetProblem } from '../../platform/targets/target-problem.ts';
import type { TargetRecord } from '../../platform/targets/target-record.ts';
import { isSameReference, wasConnectedBefore } from '../../platform/targets/target-reference.ts';
import type { ChangeRules } from '../admission/unguarded-changes.ts';

/**
 * How changes of a target in a time without policies are known. While only the policy about what it names is away, it says truly who
 * asked, and the operator asks about them.
 */
export const targetRules: ChangeRules<TargetRecord> = {
  guarded: { made: 'records', changed: 'records' },
  contentOf,
  counts: (previous, current) => contentOf(previous) !== contentOf(current),
  isConfirmed,
  hasGained: (record) => !isConfirmed(record),
  isNoted: (record) =>
    record.deleted !== undefined || namesNothing(record) || isConfirmed(record) || isNoted(record),
};

/** Nothing of it is used, and no one needs a right to that. */
const namesNothing = ({ reference: { secretRef, clusterRef } }: TargetRecord): boolean =>
  secretRef === undefined && clusterRef?.cluster === undefined;

/** The reference, and the record of those who asked. */
function contentOf({ reference, requester, changedBy }: TargetRecord): string {
  return JSON.stringify([reference, requester, changedBy]);
}

function isConfirmed(record: TargetRecord): boolean {
  const { reference, confirmed } = record;
  return confirmed === undefined ? wasConnectedBefore(record) : isSameReference(reference, confirmed);
}

/** Its annotations may name anyone. */
export const unguarded: TargetProblem = {
  reason: reasons.requesterUnknown,
  message:
    'The admission policies that record who asks were missing when this object was made or changed: delete it and create it again.',
};

/** The finding of an operator is known to the next one too. */
export function isNoted({ conditions }: TargetRecord): boolean {
  return findCondition(conditions, conditionTypes.ready)?.message === unguarded.message;
}
