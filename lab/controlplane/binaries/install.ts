import { mkdir, rename } from 'node:fs/promises';
import path from 'node:path';
import { Guard } from '../guard.ts';
import type { ProgramName } from '../versions.ts';
import { goBuild } from './build.ts';
import { downloads } from './download.ts';
import { cacheRoot, type Environment, missingIn } from './find.ts';
import { withLock } from './lock.ts';
import type { Report } from './report.ts';
import type { Source, Workplace } from './source.ts';

/** In the order in which they are asked; each is asked for what the ones before it could not give. */
export const standardSources: readonly Source[] = [downloads(), goBuild];

/** Says for each way to get programs why it did not work. */
export class NoWay extends Error {
  constructor(problems: readonly string[]) {
    super(problems.map((problem) => `- ${problem.replaceAll('\n', '\n    ')}`).join('\n'));
  }
}

/** The programs in one folder of the cache. */
export interface ProgramSet {
  readonly folder: string;
  readonly programs: readonly ProgramName[];
}

/**
 * Fills the cache. Several processes may do so at once: one works, the others wait for it.
 * @throws NoWay when something is missing in the end.
 */
export async function installPrograms(
  { folder: target, programs }: ProgramSet,
  env: Environment,
  report: Report,
  sources: readonly Source[] = standardSources,
): Promise<void> {
  await mkdir(cacheRoot(env), { recursive: true });
  const isDone = async (): Promise<boolean> => (await missingIn(target, programs)).length === 0;
  // The guard's folder stands beside the target: a rename works within one file system only.
  const guard = await Guard.start('install', cacheRoot(env));
  try {
    await withLock({ file: `${target}.lock`, guard, report }, isDone, async () => {
      await collect({ env, guard, report, folder: path.join(guard.folder, 'bin') }, programs, sources);
      await publish(guard.folder, target, isDone);
      report(`the programs are in ${target}`);
    });
  } finally {
    await guard.stop();
  }
}

async function collect(
  place: Workplace,
  programs: readonly ProgramName[],
  sources: readonly Source[],
): Promise<void> {
  await mkdir(place.folder);
  const problems: string[] = [];
  for (const source of sources) {
    const missing = await missingIn(place.folder, programs);
    if (missing.length > 0) problems.push(...(await source(missing, place)));
  }
  const missing = await missingIn(place.folder, programs);
  if (missing.length > 0) throw new NoWay(problems);
}

/** The cache shows all programs or none. */
async function publish(folder: string, target: string, isDone: () => Promise<boolean>): Promise<void> {
  const result = path.join(folder, 'bin');
  await rename(result, target).catch(async (error: unknown) => {
    if (await isDone()) return;
    // Something incomplete stands there: somebody deleted a file of it.
    await rename(target, path.join(folder, 'incomplete')).catch(() => undefined);
    await rename(result, target).catch(() => {
      throw error;
    });
  });
}
