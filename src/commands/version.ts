import { exitCodes } from '../error-catalogue.ts';
import { version } from '../version.ts';
import type { Command } from './command.ts';

/** Prints the versions of Latchkey and of Node. */
export const run: Command = async ({ print }) => {
  print(`latchkey ${version} (node ${process.versions.node}, ${process.platform} ${process.arch})`);
  return exitCodes.success;
};
