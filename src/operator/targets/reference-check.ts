import type { TargetProblem } from '../../platform/targets/target-problem.ts';
import type { TargetRecord } from '../../platform/targets/target-record.ts';
import type { TargetReference } from '../../platform/targets/target-reference.ts';
import { admissionMissing } from '../shared/admission-missing.ts';
import {
  decideReference,
  type ReferenceDecision,
  type ReferenceReview,
  type ReferenceUIDs,
  referenceWith,
} from './reference-review.ts';

/** A question that was answered with no. */
interface Denial {
  readonly refusal: TargetProblem;
  /** Milliseconds until it may be asked again. */
  readonly waitMs: number;
}

export interface ReferenceCheckOptions {
  /** Rejects when the API server does not answer, which is never a no. */
  readonly reviews: {
    ask(about: { readonly uid: string }, review: ReferenceReview): Promise<Denial | undefined>;
  };
  /** Throws while an admission policy is missing. */
  readonly assertAdmission: () => void;
  /** Since when the policies say who asks, epoch milliseconds; 0 while that is not known. */
  readonly trustedSince: () => number;
  readonly unguarded: { has(record: TargetRecord): boolean; judged(record: TargetRecord): Promise<void> };
}

export type CheckedReference =
  | { readonly reference: TargetReference }
  /** Without a time to ask again only a change of the object helps. */
  | { readonly problem: TargetProblem; readonly waitMs?: number };

/** Asks whether those who wrote the spec of a target have a right to what it names, before the operator uses that. */
export class ReferenceCheck {
  readonly #options: ReferenceCheckOptions;

  constructor(options: ReferenceCheckOptions) {
    this.#options = options;
  }

  /** Why no answer would help, while there is nothing to ask about yet. */
  refusal(record: TargetRecord): TargetProblem | undefined {
    const decision = this.#decide(record, {}, false);
    return decision.kind === 'refused' ? decision.problem : undefined;
  }

  async check(record: TargetRecord, uids: ReferenceUIDs, wasEntered: boolean): Promise<CheckedReference> {
    const { reviews, assertAdmission, unguarded } = this.#options;
    await unguarded.judged(record);
    const decision = this.#decide(record, uids, wasEntered);
    if (decision.kind === 'refused') return { problem: decision.problem };
    if (decision.kind === 'confirmed') return { reference: decision.reference };
    if (isMissing(assertAdmission)) return waiting;
    for (const review of decision.reviews) {
      // Each has a pause of its own.
      const denial = await reviews.ask({ uid: `${record.uid} ${review.asker.user}` }, review);
      if (denial !== undefined) return { problem: denial.refusal, waitMs: denial.waitMs };
    }
    // Who asks may have been forged after all, if a policy has gone in the meantime.
    if (isMissing(assertAdmission)) return waiting;
    return { reference: referenceWith(record.reference, uids) };
  }

  #decide(record: TargetRecord, uids: ReferenceUIDs, wasEntered: boolean): ReferenceDecision {
    const { trustedSince, unguarded } = this.#options;
    const time = { trustedSince: trustedSince(), isUnguarded: unguarded.has(record) };
    return decideReference({ record, uids, wasEntered, ...time });
  }
}

function isMissing(assertAdmission: () => void): boolean {
  try {
    assertAdmission();
    return false;
  } catch {
    return true;
  }
}

/** It goes on at once when the policies are back; this is for what came in between. */
const waiting: CheckedReference = { problem: admissionMissing, waitMs: 10_000 };
