import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Binaries } from '../versions.ts';
import { binariesIn, cacheFolder, type Environment, missingIn } from './find.ts';
import { installBinaries } from './install.ts';
import { type Report, reportOnStderr } from './report.ts';
import type { Source } from './source.ts';

const oldestMinor = 36;

/**
 * Finds the programs: KUBEBUILDER_ASSETS, then the cache; what neither has is downloaded or built into the cache.
 * @throws Error when KUBEBUILDER_ASSETS holds an older Kubernetes, and when there is no way to get the programs.
 */
export async function controlPlaneBinaries(
  env: Environment = process.env,
  report: Report = reportOnStderr(),
  sources?: readonly Source[],
): Promise<Binaries> {
  const assets = env['KUBEBUILDER_ASSETS'];
  if (assets !== undefined && assets !== '') {
    const missing = await missingIn(assets);
    if (missing.length === 0) return await requireRecent(binariesIn(path.resolve(assets)));
    report(`KUBEBUILDER_ASSETS (${assets}) lacks ${missing.join(', ')}; looking further`);
  }
  const cached = cacheFolder(env);
  if ((await missingIn(cached)).length === 0) return binariesIn(cached);
  return await installBinaries(env, report, sources);
}

/** Whatever else is in that folder, tests against an older API server would fail one by one and puzzle the reader. */
async function requireRecent(binaries: Binaries): Promise<Binaries> {
  const { stdout } = await promisify(execFile)(binaries['kube-apiserver'], ['--version']);
  const minor = Number(/v1\.(\d+)\./.exec(stdout)?.[1]);
  if (minor >= oldestMinor) return binaries;
  const version = stdout.trim();
  throw new Error(
    `KUBEBUILDER_ASSETS holds ${version}; it must be v1.${oldestMinor} or newer, or not be set`,
  );
}
