import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { chartFiles } from './chart/chart.ts';
import { installYaml } from './install/install-yaml.ts';
import { renderKustomization } from './install/kustomization.ts';

/**
 * Writes the two other forms of `config/default`: the chart in `charts/latchkey`, and all manifests in `dist/install.yaml`, which
 * is not kept in Git. With `--check` nothing is written, and the exit code is 1 when a file of the chart differs.
 * @example node tools/node24.mjs node tools/generate-install.ts --check
 */
const root = path.resolve(import.meta.dirname, '..');
const chart = path.join(root, 'charts/latchkey');

function main(check: boolean): void {
  const files = chartFiles();
  const present = new Map(namesIn(chart).map((name) => [name, readFileSync(path.join(chart, name), 'utf8')]));
  const unknown = [...present.keys()].filter((name) => !files.has(name));
  const changed = [...files].filter(([name, text]) => present.get(name) !== text);
  if (check) {
    const names = [...unknown, ...changed.map(([name]) => name)];
    for (const name of names)
      console.error(`charts/latchkey/${name} is not what config/ says: run npm run generate`);
    if (names.length > 0) process.exitCode = 1;
    return;
  }
  for (const name of unknown) rmSync(path.join(chart, name));
  for (const [name, text] of changed) write(path.join(chart, name), text);
  write(
    path.join(root, 'dist/install.yaml'),
    installYaml(renderKustomization(path.join(root, 'config/default'))),
  );
}

function write(file: string, text: string): void {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
}

function namesIn(folder: string): readonly string[] {
  try {
    const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

main(process.argv.includes('--check'));
