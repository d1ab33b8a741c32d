import { readFile } from 'node:fs/promises';
import type { Guard, ProcessSpec } from './guard.ts';

export interface BoundedProcess extends Omit<ProcessSpec, 'graceSeconds'> {
  /** How long it may take; it ends then, and all that it started. */
  readonly seconds: number;
}

/** Of output that is told when a program fails. */
const toldCharacters = 4_000;
/** The exit code of `timeout` when the time was up. */
const timeUp = 124;

/**
 * Runs a program to its end. Returns its output, standard error included. @throws Error with the end of its output when it fails, cannot
 * be started or takes too long.
 */
export async function runToEnd(
  guard: Guard,
  { seconds, command, args, ...rest }: BoundedProcess,
): Promise<string> {
  // It makes a process group of its own, so that its signals reach what the program starts; the guard ends it like any other.
  const bounded = ['--kill-after=5s', `${seconds}s`, command, ...args];
  const { exited, logPath } = await guard.run({ ...rest, command: 'timeout', args: bounded });
  const code = await exited;
  const output = await readFile(logPath, 'utf8');
  if (code === 0) return output;
  const how = code === timeUp ? `has not ended within ${seconds} s` : `ended with ${code}`;
  throw new Error(`${[command, ...args].join(' ')} ${how}:\n${output.slice(-toldCharacters)}`);
}
