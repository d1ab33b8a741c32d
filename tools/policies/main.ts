import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { policyFiles, policyVersion } from './index.ts';
import type { Manifest } from './policy.ts';
import { renderDigests, renderKustomization, renderPolicies, renderShipped } from './render.ts';

/**
 * Writes `config/admission`, and for the operator and the command line what they have to find on the API server. With `--check` nothing is written, and the exit code is 1 when a file differs.
 * @example node tools/node24.mjs node tools/policies/main.ts --check
 */
const root = join(import.meta.dirname, '../..');
const folder = 'config/admission';
const shipped = 'src/operator/admission/generated/shipped-policies.ts';
const digests = 'src/cli/generated/policy-digests.ts';

function render(): Map<string, string> {
  const files = Object.entries(policyFiles).map(([name, policies]): [string, string] => [
    `${folder}/${name}.yaml`,
    renderPolicies(`tools/policies/definitions/${name}.ts`, policies),
  ]);
  const names = Object.keys(policyFiles).map((name) => `${name}.yaml`);
  const source = 'tools/policies/index.ts';
  const policies = Object.values(policyFiles).flat();
  const manifests = policies.flatMap((policy) => policy.manifests);
  const version = { number: policyVersion, hash: hashOf(manifests) };
  return new Map([
    ...files,
    [`${folder}/kustomization.yaml`, renderKustomization(source, names, version)],
    [shipped, renderShipped(source, policies, policyVersion)],
    [digests, renderDigests(source, policies, policyVersion)],
  ]);
}

/** Two builds with the same number and other policies are told apart by it. */
const hashOf = (manifests: readonly Manifest[]): string =>
  createHash('sha256').update(JSON.stringify(manifests)).digest('hex').slice(0, 16);

function main(check: boolean): void {
  const files = render();
  const unknown = readdirSync(join(root, folder))
    .map((name) => `${folder}/${name}`)
    .filter((name) => !files.has(name));
  const changed = [...files].filter(([name, text]) => present(name) !== text).map(([name]) => name);
  if (check) return report([...unknown, ...changed]);
  for (const name of unknown) rmSync(join(root, name));
  for (const [name, text] of files) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
}

function report(outdated: readonly string[]): void {
  for (const name of outdated) process.stderr.write(`${name} differs from tools/policies\n`);
  if (outdated.length === 0) return;
  process.stderr.write('Run `npm run generate` and commit the result.\n');
  process.exitCode = 1;
}

function present(name: string): string | undefined {
  try {
    return readFileSync(join(root, name), 'utf8');
  } catch {
    return undefined;
  }
}

main(process.argv.includes('--check'));
