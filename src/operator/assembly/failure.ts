import { LatchkeyError } from '../../errors.ts';
import { isConflict } from '../../kube/kube-error.ts';

export interface Failure {
  readonly level: 'debug' | 'warn';
  readonly message: string;
}

/** How loud a failed reconcile is: a conflict is everyday, waiting for policies is said by the guard already. */
export function failureOf(error: unknown): Failure {
  if (isConflict(error)) return { level: 'debug', message: 'the object changed meanwhile; looking again' };
  if (error instanceof LatchkeyError) return { level: 'debug', message: 'reconcile waits' };
  return { level: 'warn', message: 'reconcile failed; it will be tried again' };
}
