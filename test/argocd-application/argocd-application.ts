import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

/** The module with the manifests of Argo CD. Nothing of it is compiled. */
const module = {
  path: 'github.com/argoproj/argo-cd/v3',
  version: 'v3.5.1',
  sum: 'h1:jtwPLEFX9mNj3jSq88ugFcScGnOZVs2DWaXFuZxrRT8=',
};

/** The first time it downloads 55 MB. */
export const downloadTimeoutMs = 600_000;

/** The custom resource definition of an Application as Argo CD ships it, as YAML. @throws Error where there is no `go`. */
export async function applicationDefinition(): Promise<string> {
  const { Dir, Sum } = await download();
  if (Sum !== module.sum) throw new Error(`${module.path} has another content than expected: ${Sum}`);
  return await readFile(path.join(Dir, 'manifests/crds/application-crd.yaml'), 'utf8');
}

async function download(): Promise<{ readonly Dir: string; readonly Sum: string }> {
  const args = ['mod', 'download', '-json', `${module.path}@${module.version}`];
  // The sum is compared here, as go.sum would.
  const env = { ...process.env, GOFLAGS: '', GOWORK: 'off', GONOSUMDB: module.path };
  const options = { cwd: import.meta.dirname, env, timeout: downloadTimeoutMs };
  const { stdout } = await promisify(execFile)('go', args, options);
  return JSON.parse(stdout);
}
