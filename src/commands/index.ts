import { LatchkeyError } from '../errors.ts';
import type { Environment } from '../settings/read.ts';

/** What a command gets from the process that it runs in. */
export interface CommandContext {
  readonly environment: Environment;
  /** Aborted by the first SIGINT or SIGTERM: stop in order, within a time limit of the command's own. */
  readonly signal: AbortSignal;
  /** Writes a line to standard output. */
  readonly print: (line: string) => void;
}

/** Runs until it is done or told to stop. Resolves with the exit code; a rejection is reported by main. */
export type Command = (context: CommandContext) => Promise<number>;

interface CommandEntry {
  readonly summary: string;
  /** Loaded only when it runs: the operator's libraries would slow down every other command. */
  readonly load: () => Promise<{ readonly run: Command }>;
}

export const commands: Readonly<Record<string, CommandEntry>> = {
  operator: {
    summary: 'Reconciles the credential objects of a Kubernetes API server',
    load: () => import('./operator.ts'),
  },
  version: { summary: 'Prints the version', load: () => import('./version.ts') },
};

/** Throws ERR_COMMAND_UNKNOWN. */
export async function loadCommand(name: string): Promise<Command> {
  const entry = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (entry === undefined) {
    throw new LatchkeyError('ERR_COMMAND_UNKNOWN', {
      command: name,
      commands: Object.keys(commands).join(', '),
    });
  }
  const { run } = await entry.load();
  return run;
}
