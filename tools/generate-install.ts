import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { chartFiles } from './chart/chart.ts';
import { endpointChartFiles } from './chart/direct-endpoint/chart.ts';
import { installYaml } from './install/install-yaml.ts';
import { renderKustomization } from './install/kustomization.ts';

/**
 * Writes the other forms of what is in `config`: the charts in `charts`, and all manifests of `config/default` in `dist/install.yaml`,
 * which is not kept in Git. With `--check` nothing is written, and the exit code is 1 when a file of a chart differs.
 * @example node tools/node24.mjs node tools/generate-install.ts --check
 */
const root = path.resolve(import.meta.dirname, '..');
const charts = { latchkey: chartFiles, 'latchkey-direct-endpoint': endpointChartFiles };

function main(check: boolean): void {
  for (const [name, files] of Object.entries(charts)) writeChart(name, files(), check);
  if (check) return;
  write(
    path.join(root, 'dist/install.yaml'),
    installYaml(renderKustomization(path.join(root, 'config/default'))),
  );
}

function writeChart(chart: string, files: ReadonlyMap<string, string>, check: boolean): void {
  const folder = path.join(root, 'charts', chart);
  const present = new Map(
    namesIn(folder).map((name) => [name, readFileSync(path.join(folder, name), 'utf8')]),
  );
  const unknown = [...present.keys()].filter((name) => !files.has(name));
  const changed = [...files].filter(([name, text]) => present.get(name) !== text);
  if (check) {
    const names = [...unknown, ...changed.map(([name]) => name)];
    for (const name of names)
      console.error(`charts/${chart}/${name} is not what config/ says: run npm run generate`);
    if (names.length > 0) process.exitCode = 1;
    return;
  }
  for (const name of unknown) rmSync(path.join(folder, name));
  for (const [name, text] of changed) write(path.join(folder, name), text);
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
