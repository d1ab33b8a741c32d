import { execFile } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Numbers of the processors of this machine, in two halves: of the program under test, and of what runs on other machines in production. */
export interface Halves {
  readonly measured: string;
  readonly others: string;
}

/** @throws Error on a machine with one processor. */
export function halvesOf(processors = availableParallelism()): Halves {
  if (processors < 2)
    throw new Error('this benchmark needs two processors: one is for the program under test');
  const half = Math.floor(processors / 2);
  return { measured: `0-${half - 1}`, others: `${half}-${processors - 1}` };
}

/**
 * All threads of a process run on these processors from now on, and so does what it starts.
 * @throws Error where the command `taskset` is missing.
 */
export async function runOn(processors: string, pid: number): Promise<void> {
  await run('taskset', ['--all-tasks', '--pid', '--cpu-list', processors, String(pid)]);
}
