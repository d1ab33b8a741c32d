import type { Guard } from '../guard.ts';
import type { ProgramName } from '../versions.ts';
import type { Environment } from './find.ts';
import type { Report } from './report.ts';

export interface Workplace {
  readonly env: Environment;
  /** Owns the temporary folder and the processes of this installation. */
  readonly guard: Guard;
  /** Where the programs go, under their own names. */
  readonly folder: string;
  readonly report: Report;
}

/** One way to get programs. It puts what it can into the folder and returns, a line each, why it lacks the rest. */
export type Source = (tools: readonly ProgramName[], place: Workplace) => Promise<string[]>;

export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}
