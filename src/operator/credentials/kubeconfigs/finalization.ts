import { reasons } from '../../../api/reasons.ts';
import type { TargetProblem } from '../../../platform/targets/target-problem.ts';

export interface KubeConfigFinalization {
  /** Secrets that were made for the kubeconfig and still exist. */
  readonly secrets: number;
  /** What stands in the way of the clean-up inside; absent: it is done, or there was nothing to do. */
  readonly problem?: TargetProblem;
  /** Whether the instance is there to stay. */
  readonly instance: 'present' | 'going' | 'gone';
  /** Epoch milliseconds. */
  readonly now: number;
  readonly deadline: number;
}

/**
 * Whether the finalizer of a deleted kubeconfig may go: `done` with nothing left, `left` with something. Where the
 * virtual cluster is going away, or nobody can say any more how to reach it, waiting would only hold up its namespace.
 */
export function releaseOf(input: KubeConfigFinalization): 'done' | 'left' | undefined {
  const { secrets, problem, instance, now, deadline } = input;
  if (secrets === 0 && problem === undefined) return 'done';
  if (now >= deadline) return 'left';
  const hopeless =
    problem !== undefined && (instance !== 'present' || problem.reason === reasons.kubeConfigNotFound);
  return hopeless && secrets === 0 ? 'left' : undefined;
}
