import { mkdir, rename } from 'node:fs/promises';
import path from 'node:path';
import { Guard } from '../guard.ts';
import { type Binaries, kubernetesVersion, toolNames } from '../versions.ts';
import { goBuild } from './build.ts';
import { downloads } from './download.ts';
import { binariesIn, cacheFolder, cacheRoot, type Environment, missingIn } from './find.ts';
import { withLock } from './lock.ts';
import type { Report } from './report.ts';
import type { Source } from './source.ts';

/** In the order in which they are asked; each is asked for what the ones before it could not give. */
export const standardSources: readonly Source[] = [downloads(), goBuild];

/**
 * Fills the cache. Several processes may do so at once: one works, the others wait for it.
 * @throws Error that says for each way why it did not work.
 */
export async function installBinaries(
  env: Environment,
  report: Report,
  sources: readonly Source[] = standardSources,
): Promise<Binaries> {
  const target = cacheFolder(env);
  await mkdir(cacheRoot(env), { recursive: true });
  const isDone = async (): Promise<boolean> => (await missingIn(target)).length === 0;
  // The guard's folder stands beside the target: a rename works within one file system only.
  const guard = await Guard.start('install', cacheRoot(env));
  try {
    await withLock({ file: `${target}.lock`, guard, report }, isDone, async () => {
      await collect({ env, guard, report, folder: path.join(guard.folder, 'bin') }, sources);
      await publish(guard.folder, target, isDone);
      report(`the programs are in ${target}`);
    });
  } finally {
    await guard.stop();
  }
  return binariesIn(target);
}

async function collect(place: Parameters<Source>[1], sources: readonly Source[]): Promise<void> {
  await mkdir(place.folder);
  const problems: string[] = [];
  for (const source of sources) {
    const missing = await missingIn(place.folder);
    if (missing.length > 0) problems.push(...(await source(missing, place)));
  }
  const missing = await missingIn(place.folder);
  if (missing.length > 0) throw new Error(explanation(problems, place.env));
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

function explanation(problems: readonly string[], env: Environment): string {
  return [
    `The local control plane needs ${toolNames.join(', ')} (Kubernetes ${kubernetesVersion}), and no way to get them worked:`,
    `- KUBEBUILDER_ASSETS ${env['KUBEBUILDER_ASSETS'] === undefined ? 'is not set' : 'does not hold all of them'}`,
    `- the cache ${cacheFolder(env)} does not hold them`,
    ...problems.map((problem) => `- ${problem.replaceAll('\n', '\n    ')}`),
    'Any one of these helps: put the four programs into a folder and set KUBEBUILDER_ASSETS to it; let this machine',
    'reach the download addresses (lab/controlplane/README.md has the variables for a mirror); install Go 1.26 or newer.',
  ].join('\n');
}
