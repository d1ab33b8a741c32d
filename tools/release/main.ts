import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { version as present } from '../../src/version.ts';
import { charts, makeArtifacts } from './artifacts.ts';
import { notesFor, versionEdits } from './version-edits.ts';

/**
 * Gives this tree a version and makes the files of the release. It publishes nothing. With `--files` it only makes them, for the version
 * that the tree has.
 * @example npm run release -- 0.2.0
 */
const root = path.resolve(import.meta.dirname, '../..');
const folder = 'dist/release';
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');

function main(args: readonly string[]): void {
  const next = args.find((arg) => !arg.startsWith('--'));
  if (next === undefined) throw new Error('say which version: npm run release -- 0.2.0');
  if (!args.includes('--files')) giveVersion(next);
  else if (next !== present) throw new Error(`this tree is ${present}, not ${next}`);
  for (const script of ['generate', 'bundle'])
    execFileSync('npm', ['run', '--silent', script], { cwd: root, stdio: 'inherit' });
  makeArtifacts(path.join(root, folder), next);
  const notes = notesFor(read('CHANGELOG.md'), next);
  writeFileSync(path.join(root, 'dist/notes.md'), `${notes}\n`);
  console.log(`${folder} holds ${next}.\n\n${notes}\n\n${publishing(next)}`);
}

function giveVersion(next: string): void {
  const edits = versionEdits({ present, next, date: new Date().toISOString().slice(0, 10), read });
  for (const [file, text] of edits) writeFileSync(path.join(root, file), text);
}

const publishing = (next: string): string =>
  [
    'Read `git diff`, run .ci/run, and publish, with a registry of yours in place of registry.example.com:',
    `  git commit -am "build: release ${next}" && git tag -s v${next}`,
    `  docker buildx build --provenance=mode=max --sbom=true --build-arg REVISION=$(git rev-parse HEAD) -t registry.example.com/latchkey:${next} --push .`,
    `  cosign sign registry.example.com/latchkey:${next}`,
    ...charts.flatMap((chart) => [
      `  helm push ${folder}/${chart}-${next}.tgz oci://registry.example.com/charts`,
      `  cosign sign registry.example.com/charts/${chart}:${next}`,
    ]),
    `  npm publish ${folder}/latchkey-cli-${next}.tgz`,
    `  cosign sign-blob --bundle ${folder}/SHA256SUMS.sigstore.json ${folder}/SHA256SUMS`,
  ].join('\n');

try {
  main(process.argv.slice(2));
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
