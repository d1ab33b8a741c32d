import { createHash } from 'node:crypto';
import { access, constants, mkdir, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { cacheRoot } from '../../lab/controlplane/binaries/find.ts';
import { withLock } from '../../lab/controlplane/binaries/lock.ts';
import type { Report } from '../../lab/controlplane/binaries/report.ts';
import { runToEnd } from '../../lab/controlplane/bounded.ts';
import { Guard } from '../../lab/controlplane/guard.ts';

/** The two clients, installed. */
export interface LanguagePackages {
  /** An interpreter that finds the client for Python. */
  readonly python: string;
  /** The class path with the client of fabric8. */
  readonly classPath: string;
}

/** Packages of one language, kept for as long as the file that pins them stays as it is. */
interface PackageSet {
  readonly language: string;
  readonly pins: string;
  /** In the folder. Default: the folder itself, which is there only when it is whole. */
  readonly result?: string;
  /** Fills the folder. Asked again, it goes on with what it has. */
  readonly fill: (folder: string, guard: Guard, attempt: number) => Promise<void>;
}

const requirements = path.join(import.meta.dirname, 'requirements.txt');
const pom = path.join(import.meta.dirname, 'java/pom.xml');

/** A registry may hang in the middle of a file, and then the next attempt goes on behind it. */
const attempts = 3;
const attemptSeconds = 180;

const python: PackageSet = {
  language: 'python',
  pins: requirements,
  result: 'bin/python3',
  fill: async (folder, guard, attempt) => {
    const limits = { seconds: attemptSeconds };
    await runToEnd(guard, {
      ...limits,
      name: `venv-${attempt}`,
      command: 'python3',
      args: ['-m', 'venv', '--clear', folder],
    });
    // All that is needed is pinned, so nothing else may come.
    const options = ['--no-input', '--no-deps', '--only-binary=:all:', '--progress-bar=off'];
    await runToEnd(guard, {
      ...limits,
      name: `pip-${attempt}`,
      command: path.join(folder, 'bin/python3'),
      args: ['-m', 'pip', 'install', ...options, '--requirement', requirements],
    });
  },
};

const java: PackageSet = {
  language: 'java',
  pins: pom,
  fill: async (folder, guard, attempt) => {
    const options = ['--batch-mode', '--no-transfer-progress', '--strict-checksums', ...patience];
    await runToEnd(guard, {
      name: `maven-${attempt}`,
      seconds: attemptSeconds,
      command: 'mvn',
      args: [...options, '--file', pom, 'dependency:copy-dependencies', `-DoutputDirectory=${folder}`],
    });
  },
};

/** Maven itself waits half an hour for a server that has fallen silent. */
const patience = ['-Dmaven.wagon.rto=20000', '-Dmaven.wagon.http.retryHandler.count=3'];

/**
 * Finds the clients in the cache, or fetches them once by `pip` and `mvn` as they are set up here.
 * @throws Error when one cannot be fetched.
 */
export async function languagePackages(report: Report): Promise<LanguagePackages> {
  const [interpreter, jars] = await Promise.all([install(python, report), install(java, report)]);
  return { python: interpreter, classPath: path.join(jars, '*') };
}

async function install(set: PackageSet, report: Report): Promise<string> {
  const root = path.join(path.dirname(cacheRoot(process.env)), 'languages');
  await mkdir(root, { recursive: true });
  const digest = createHash('sha256')
    .update(await readFile(set.pins))
    .digest('hex');
  const target = path.join(root, `${set.language}-${digest.slice(0, 16)}`);
  const result = path.join(target, set.result ?? '');
  const isDone = async () => await isThere(result);
  if (await isDone()) return result;
  // The guard's folder stands beside the target: a rename works within one file system only.
  const guard = await Guard.start('install', root);
  try {
    await withLock({ file: `${target}.lock`, guard, report }, isDone, async () => {
      const folder = path.join(guard.folder, 'filled');
      report(`fetching the client for ${set.language}`);
      await repeated(attempts, report, async (attempt) => await set.fill(folder, guard, attempt));
      await rm(target, { recursive: true, force: true });
      await rename(folder, target);
    });
  } finally {
    await guard.stop();
  }
  return result;
}

async function repeated(
  times: number,
  report: Report,
  work: (attempt: number) => Promise<void>,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1)
    try {
      await work(attempt);
      return;
    } catch (error) {
      if (attempt === times) throw error;
      report(`attempt ${attempt} of ${times} failed: ${(error as Error).message}`);
    }
}

/** The interpreter of a virtual environment is a link: it is gone where Python was removed. */
const isThere = async (file: string): Promise<boolean> =>
  await access(file, constants.R_OK).then(
    () => true,
    () => false,
  );
