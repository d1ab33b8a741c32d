import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '../..');

interface LockedPackage {
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly devOptional?: boolean;
}

interface Lock {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

/**
 * A list in the form of CycloneDX of what the bundles are made from, without the time and the number that npm makes up. npm sees no tests
 * and tools here: told to leave them out, it also leaves out what both they and the program use.
 */
export function partsList(): string {
  const parent = mkdtempSync(path.join(tmpdir(), 'latchkey-parts-'));
  // npm writes its name into the list.
  const folder = path.join(parent, 'latchkey');
  try {
    mkdirSync(folder);
    const write = (name: string, value: object) =>
      writeFileSync(path.join(folder, name), JSON.stringify(value));
    write('package.json', withoutTools(read('package.json')));
    write('package-lock.json', programLock(read('package-lock.json') as Lock));
    const args = ['sbom', '--sbom-format=cyclonedx', '--package-lock-only'];
    const text = execFileSync('npm', args, { cwd: folder, encoding: 'utf8' });
    const { serialNumber: _, ...list } = JSON.parse(text);
    delete list.metadata.timestamp;
    return `${JSON.stringify(list, null, 2)}\n`;
  } finally {
    rmSync(parent, { recursive: true });
  }
}

const read = (name: string): object => JSON.parse(readFileSync(path.join(root, name), 'utf8'));

/** Without what only tests, tools and some machines need. */
function programLock({ packages, ...more }: Lock): Lock {
  const kept = Object.entries(packages).filter(
    ([, { dev, optional, devOptional }]) => !(dev || optional || devOptional),
  );
  const { '': project = {}, ...others } = Object.fromEntries(kept);
  return { ...more, packages: { '': withoutTools(project), ...others } };
}

function withoutTools(manifest: object): object {
  const { devDependencies: _, optionalDependencies: __, ...kept } = manifest as Record<string, unknown>;
  return kept;
}
