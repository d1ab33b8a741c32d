import type { Environment } from '../settings/read.ts';

/** The parts of its process that a command gets. */
export interface CommandContext {
  readonly environment: Environment;
  /** Behind the command. */
  readonly args?: readonly string[];
  /** Aborted by the first SIGINT or SIGTERM: stop in order, within a time limit of the command's own. */
  readonly signal: AbortSignal;
  /** Writes a line to standard output. */
  readonly print: (line: string) => void;
}

/** Runs until it is done or told to stop. Resolves with the exit code; a rejection is reported by main. */
export type Command = (context: CommandContext) => Promise<number>;
