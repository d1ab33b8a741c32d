import { type Reason, reasons } from '../../api/reasons.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { type TargetProblem, targetProblemOf } from '../../platform/targets/target-problem.ts';

/** Something in the virtual cluster did not go as it must. The message is ours; nothing of it comes from there. */
export class TargetFailure extends Error {
  readonly problem: TargetProblem;

  constructor(problem: TargetProblem) {
    super(problem.message);
    this.name = 'TargetFailure';
    this.problem = problem;
  }
}

export function targetFailure(reason: Reason, message: string): TargetFailure {
  return new TargetFailure({ reason, message });
}

/**
 * Runs requests to a target. Rejects with a TargetFailure for whatever the target answered or did not, and with what
 * was thrown for everything else, as the end of leadership.
 */
export async function atTarget<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const problem = targetProblemOf(error) ?? (error instanceof KubeError ? unexpected : undefined);
    throw problem === undefined ? error : new TargetFailure(problem);
  }
}

const unexpected: TargetProblem = {
  reason: reasons.targetAnswer,
  message:
    'The virtual cluster refuses a request that every API server takes, or changes what is written: look at its admission webhooks.',
};
