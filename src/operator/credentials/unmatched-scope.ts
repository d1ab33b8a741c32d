import { reasons } from '../../api/reasons.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import { type IsThere, missingTargets, missingTargetsText, targetsOf } from '../../scope/missing-targets.ts';
import type { TargetName } from '../../scope/named-targets.ts';
import type { DesiredStatus } from './desired-status.ts';

/** Of a scope that names targets of which none is there. */
export interface UnmatchedScope {
  /** As people read them; the first few. */
  readonly missing: readonly string[];
  /** From when it is said, epoch milliseconds. */
  readonly from: number;
}

/** A project is often applied together with the keys for it, and watches bring the two in any order; milliseconds. */
const grace = 3_000;

/** Every name in the scope of a credential: whether there is one of them decides about the condition. */
export function scopeNames(record: CredentialRecord): readonly TargetName[] {
  const targets = targetsOf(record);
  return targets === undefined || targets.isOpen ? [] : [...new Set(targets.named.flat(2))];
}

export function findUnmatchedScope(record: CredentialRecord, isThere: IsThere): UnmatchedScope | undefined {
  const missing = missingTargets(record, isThere);
  return missing && { missing, from: record.created + grace };
}

/** The part of a status that says so; nothing while what is named may be on its way. */
export function scopeCondition(
  unmatched: UnmatchedScope | undefined,
  now: number,
): Pick<DesiredStatus, 'scopeMatchesNothing'> {
  if (unmatched === undefined || now < unmatched.from) return {};
  const message = `${missingTargetsText(unmatched.missing)}.`;
  return { scopeMatchesNothing: { reason: reasons.scopeMatchesNothing, message } };
}

/** When to look again, so that it is said in time. */
export const scopeRecheck = (unmatched: UnmatchedScope | undefined): readonly number[] =>
  unmatched === undefined ? [] : [unmatched.from];
