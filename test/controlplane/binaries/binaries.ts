import type { Binaries } from '../versions.ts';
import { binariesIn, cacheFolder, type Environment, missingIn } from './find.ts';

/** Finds the programs. @throws Error when there are none. */
export async function controlPlaneBinaries(env: Environment = process.env): Promise<Binaries> {
  const assets = env['KUBEBUILDER_ASSETS'];
  for (const folder of [...(assets === undefined ? [] : [assets]), cacheFolder(env)]) {
    if ((await missingIn(folder)).length === 0) return binariesIn(folder);
  }
  throw new Error('no control plane binaries');
}
