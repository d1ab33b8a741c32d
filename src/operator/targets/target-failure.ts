import { type Reason, reasons } from '../../api/reasons.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { type TargetProblem, targetProblemOf } from '../../platform/targets/target-problem.ts';

/** Something in a target is not as it has to be. The message is ours; nothing of it comes from there. */
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

/** Why work in a target failed. Only for errors of requests to a target. @throws the error that is not about the target. */
export function problemInTarget(error: unknown): TargetProblem {
  if (error instanceof TargetFailure) return error.problem;
  const problem = targetProblemOf(error);
  if (problem !== undefined) return problem;
  if (error instanceof KubeError) return unexpected;
  throw error;
}

/**
 * Runs requests to a target. Rejects with a TargetFailure for anything about the target, and with the error itself for
 * everything else, such as the end of leadership.
 */
export async function atTarget<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof TargetFailure ? error : new TargetFailure(problemInTarget(error));
  }
}

const unexpected: TargetProblem = {
  reason: reasons.targetAnswer,
  message:
    'The target does not accept what Latchkey makes in it: look for admission policies or finalizers there that prevent it.',
};
