import { exitCodes } from '../errors.ts';
import type { Command } from './command.ts';
import { OperatorProcess } from './operator-process.ts';

/** Runs the operator until the signal aborts. */
export const run: Command = async ({ environment, signal }) => {
  await new OperatorProcess(environment).run(signal);
  return exitCodes.success;
};
