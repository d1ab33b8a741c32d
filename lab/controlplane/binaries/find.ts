import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { type Binaries, cacheKey, type ProgramName, toolNames } from '../versions.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Where this user keeps the programs of all versions. */
export function cacheRoot(env: Environment): string {
  const base = env['XDG_CACHE_HOME'];
  // The XDG specification says to ignore a relative path.
  const caches = base !== undefined && path.isAbsolute(base) ? base : path.join(homedir(), '.cache');
  return path.join(caches, 'latchkey', 'controlplane');
}

/** The folder of this version in the cache; it is there only when it is complete. */
export function cacheFolder(env: Environment): string {
  return path.join(cacheRoot(env), cacheKey);
}

/** Which of the programs a folder lacks; a file that may not be executed counts as lacking. */
export async function missingIn(
  folder: string,
  programs: readonly ProgramName[] = toolNames,
): Promise<ProgramName[]> {
  const found = await Promise.all(programs.map(async (name) => await isExecutable(path.join(folder, name))));
  return programs.filter((_, index) => found[index] !== true);
}

export function binariesIn(folder: string): Binaries {
  return Object.fromEntries(toolNames.map((tool) => [tool, path.join(folder, tool)])) as Binaries;
}

async function isExecutable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
