import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { type Definition, renderKind, renderScope } from './generate-types/render.ts';

/**
 * Writes `src/api/generated` from `crds/`. With `--check` nothing is written, and the exit code is 1 when a file differs.
 * @example node tools/node24.mjs node tools/generate-types.ts --check
 */
const root = join(import.meta.dirname, '..');
const target = join(root, 'src/api/generated');

async function main(check: boolean): Promise<void> {
  const files = await render();
  const outdated = check ? await differing(files) : [];
  for (const file of outdated) process.stderr.write(`src/api/generated/${file} differs from crds/\n`);
  if (outdated.length > 0) {
    process.stderr.write('Run `npm run generate` and commit the result.\n');
    process.exitCode = 1;
  }
  if (!check) await write(files);
}

async function render(): Promise<Map<string, string>> {
  const names = (await readdir(join(root, 'crds'))).filter((name) => name !== 'kustomization.yaml').sort();
  const definitions = await Promise.all(names.map(load));
  const scoped = definitions.find(({ spec }) => spec.names.kind === 'OwnedAccessKey');
  if (scoped === undefined) throw new Error('crds/ has no OwnedAccessKey');
  return new Map(await Promise.all([...definitions.map(renderKind), renderScope(scoped)]));
}

async function load(name: string): Promise<Definition> {
  return parse(await readFile(join(root, 'crds', name), 'utf8')) as Definition;
}

async function write(files: ReadonlyMap<string, string>): Promise<void> {
  await mkdir(target, { recursive: true });
  for (const [name, text] of files) await writeFile(join(target, name), text);
}

async function differing(files: ReadonlyMap<string, string>): Promise<string[]> {
  const present = await readdir(target);
  const unknown = present.filter((name) => !files.has(name));
  const changed = await Promise.all(
    [...files].map(async ([name, text]) => ((await textOf(name)) === text ? [] : [name])),
  );
  return [...unknown, ...changed.flat()];
}

const textOf = (name: string): Promise<string> => readFile(join(target, name), 'utf8').catch(() => '');

await main(process.argv.includes('--check'));
