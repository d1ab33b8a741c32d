import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { policyFiles, policyVersion } from './index.ts';
import { renderKustomization, renderPolicies } from './render.ts';

/**
 * Writes `config/admission`. With `--check` nothing is written, and the exit code is 1 when a file differs.
 * @example node tools/node24.mjs node tools/policies/main.ts --check
 */
const folder = join(import.meta.dirname, '../../config/admission');

function render(): Map<string, string> {
  const files = Object.entries(policyFiles).map(([name, policies]): [string, string] => [
    `${name}.yaml`,
    renderPolicies(`tools/policies/definitions/${name}.ts`, policies),
  ]);
  const names = files.map(([name]) => name);
  const kustomization = renderKustomization('tools/policies/index.ts', names, policyVersion);
  return new Map([...files, ['kustomization.yaml', kustomization]]);
}

function main(check: boolean): void {
  const files = render();
  const unknown = readdirSync(folder).filter((name) => !files.has(name));
  const changed = [...files].filter(([name, text]) => present(name) !== text).map(([name]) => name);
  if (check) return report([...unknown, ...changed]);
  mkdirSync(folder, { recursive: true });
  for (const name of unknown) rmSync(join(folder, name));
  for (const [name, text] of files) writeFileSync(join(folder, name), text);
}

function report(outdated: readonly string[]): void {
  for (const name of outdated) process.stderr.write(`config/admission/${name} differs from tools/policies\n`);
  if (outdated.length === 0) return;
  process.stderr.write('Run `npm run generate` and commit the result.\n');
  process.exitCode = 1;
}

function present(name: string): string | undefined {
  try {
    return readFileSync(join(folder, name), 'utf8');
  } catch {
    return undefined;
  }
}

main(process.argv.includes('--check'));
