import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { partsList } from './parts-list.ts';

const root = path.resolve(import.meta.dirname, '../..');
const commandLine = 'latchkey-cli.cjs';
const shipped = ['install.yaml', 'latchkey.mjs', 'yaml-worker.mjs', commandLine, 'THIRD_PARTY_LICENSES'];

/** The charts of the platform and of a connected cluster. */
export const charts = ['latchkey', 'latchkey-direct-endpoint'] as const;

/**
 * Puts the files of a release into `folder`, with their checksums. The same tree makes the same bytes. `dist` has to hold the bundle and
 * install.yaml.
 */
export function makeArtifacts(folder: string, version: string): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const file of shipped) copyFileSync(path.join(root, 'dist', file), path.join(folder, file));
  for (const chart of charts) writeFileSync(path.join(folder, `${chart}-${version}.tgz`), packedChart(chart));
  writeFileSync(path.join(folder, `latchkey-cli-${version}.tgz`), packedCommandLine(version));
  writeFileSync(path.join(folder, 'latchkey.cdx.json'), partsList());
  writeFileSync(path.join(folder, 'SHA256SUMS'), checksums(folder));
}

/** As `helm package` makes it. */
export const packedChart = (chart: (typeof charts)[number] = 'latchkey'): Buffer =>
  packed(path.join(root, 'charts'), chart);

/** As `npm pack` makes it: the bundle of the command line as a package without dependencies. */
export function packedCommandLine(version: string, bundle = path.join(root, 'dist', commandLine)): Buffer {
  const folder = mkdtempSync(path.join(tmpdir(), 'latchkey-pack-'));
  try {
    mkdirSync(path.join(folder, 'package'));
    const file = (name: string) => path.join(folder, 'package', name);
    copyFileSync(bundle, file(commandLine));
    copyFileSync(path.join(root, 'LICENSE'), file('LICENSE'));
    writeFileSync(file('package.json'), `${JSON.stringify(manifestOf(version), null, 2)}\n`);
    return packed(folder, 'package');
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const manifestOf = (version: string) => ({
  name: 'latchkey',
  version,
  description: 'The command line of Latchkey: keys for the clusters of a platform',
  license: 'Apache-2.0',
  // The second name makes it a plugin of kubectl.
  bin: { latchkey: commandLine, 'kubectl-latchkey': commandLine },
  engines: { node: '>=22.15' },
});

/** With no time and no user of this machine in it. */
function packed(folder: string, name: string): Buffer {
  const plain = [
    '--sort=name',
    '--mtime=@0',
    '--owner=0',
    '--group=0',
    '--numeric-owner',
    '--mode=go=rX,u+rw,a-s',
  ];
  const tar = execFileSync('tar', ['-cf', '-', ...plain, '-C', folder, name], { maxBuffer: 2 ** 26 });
  return execFileSync('gzip', ['-9', '-n'], { input: tar, maxBuffer: 2 ** 26 });
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
