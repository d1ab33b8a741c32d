import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '../..');
const shipped = ['install.yaml', 'latchkey.mjs', 'yaml-worker.mjs', 'THIRD_PARTY_LICENSES'];

/**
 * Puts the files of a release into `folder`, with their checksums. The same tree makes the same bytes. `dist` has to hold the bundle and
 * install.yaml.
 */
export function makeArtifacts(folder: string, version: string): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const file of shipped) copyFileSync(path.join(root, 'dist', file), path.join(folder, file));
  writeFileSync(path.join(folder, `latchkey-${version}.tgz`), packedChart());
  writeFileSync(path.join(folder, 'latchkey.cdx.json'), partsList());
  writeFileSync(path.join(folder, 'SHA256SUMS'), checksums(folder));
}

/** As `helm package` makes it, but with no time and no user of this machine in it. */
export function packedChart(): Buffer {
  const plain = [
    '--sort=name',
    '--mtime=@0',
    '--owner=0',
    '--group=0',
    '--numeric-owner',
    '--mode=go=rX,u+rw,a-s',
  ];
  const tar = execFileSync('tar', ['-cf', '-', ...plain, '-C', path.join(root, 'charts'), 'latchkey'], {
    maxBuffer: 2 ** 26,
  });
  return execFileSync('gzip', ['-9', '-n'], { input: tar, maxBuffer: 2 ** 26 });
}

/** A list in the form of CycloneDX of what the bundle is made from, without the time and the number that npm makes up. */
export function partsList(): string {
  const args = ['sbom', '--sbom-format=cyclonedx', '--omit=dev', '--omit=optional', '--package-lock-only'];
  const { serialNumber: _, ...list } = JSON.parse(execFileSync('npm', args, { cwd: root, encoding: 'utf8' }));
  delete list.metadata.timestamp;
  return `${JSON.stringify(list, null, 2)}\n`;
}

const checksums = (folder: string): string =>
  readdirSync(folder)
    .toSorted()
    .map(
      (name) =>
        `${createHash('sha256')
          .update(readFileSync(path.join(folder, name)))
          .digest('hex')}  ${name}\n`,
    )
    .join('');
