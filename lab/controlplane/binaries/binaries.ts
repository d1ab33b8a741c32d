import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { type Binaries, kubernetesVersion, olderKubectlVersion, toolNames } from '../versions.ts';
import { binariesIn, cacheFolder, cacheRoot, type Environment, missingIn } from './find.ts';
import { installPrograms, NoWay } from './install.ts';
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
  try {
    await installPrograms({ folder: cached, programs: toolNames }, env, report, sources);
  } catch (error) {
    throw error instanceof NoWay ? new Error(explanation(error, env)) : error;
  }
  return binariesIn(cached);
}

/**
 * Finds the kubectl of the minor before in the cache, or downloads or builds it into it. No one else waits for it.
 * @throws Error when there is no way to get it.
 */
export async function olderKubectl(
  env: Environment = process.env,
  report: Report = reportOnStderr(),
  sources?: readonly Source[],
): Promise<string> {
  const name = 'older-kubectl';
  const folder = path.join(
    cacheRoot(env),
    `kubectl-${olderKubectlVersion}-${process.platform}-${process.arch}`,
  );
  const programs = [name] as const;
  if ((await missingIn(folder, programs)).length > 0) {
    await installPrograms({ folder, programs }, env, report, sources);
  }
  return path.join(folder, name);
}

function explanation({ message }: NoWay, env: Environment): string {
  return [
    `The local control plane needs ${toolNames.join(', ')} (Kubernetes ${kubernetesVersion}), and no way to get them worked:`,
    `- KUBEBUILDER_ASSETS ${env['KUBEBUILDER_ASSETS'] === undefined ? 'is not set' : 'does not hold all of them'}`,
    `- the cache ${cacheFolder(env)} does not hold them`,
    message,
    'Any one of these helps: put the four programs into a folder and set KUBEBUILDER_ASSETS to it; let this machine',
    'reach the download addresses (lab/controlplane/README.md has the variables for a mirror); install Go 1.26 or newer.',
  ].join('\n');
}

/** Refuses an older API server, whatever else the folder holds: tests would fail one by one and puzzle the reader. */
async function requireRecent(binaries: Binaries): Promise<Binaries> {
  const { stdout } = await promisify(execFile)(binaries['kube-apiserver'], ['--version']);
  const minor = Number(/v1\.(\d+)\./.exec(stdout)?.[1]);
  if (minor >= oldestMinor) return binaries;
  const version = stdout.trim();
  throw new Error(
    `KUBEBUILDER_ASSETS holds ${version}; it must be v1.${oldestMinor} or newer, or not be set`,
  );
}
