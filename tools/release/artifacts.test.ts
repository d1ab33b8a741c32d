import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { buildBundle } from '../bundle/build-bundle.ts';
import { buildCommandLine } from '../bundle/build-command-line.ts';
import { packageFolders } from '../bundle/licences.ts';
import { packedChart, packedCommandLine } from './artifacts.ts';
import { partsList } from './parts-list.ts';

it.each([
  ['latchkey', 'policies'],
  ['latchkey-direct-endpoint', 'endpoint'],
] as const)('packs the chart %s to the same bytes each time, with every file in it', (chart, template) => {
  const packed = packedChart(chart);
  expect(packedChart(chart).equals(packed)).toBe(true);
  const names = execFileSync('tar', ['-tz'], { input: packed, encoding: 'utf8' }).split('\n');
  expect(names).toEqual(
    expect.arrayContaining([`${chart}/Chart.yaml`, `${chart}/templates/${template}.yaml`]),
  );
});

it('lists the parts of the bundle with version and licence, and nothing that only tests use', () => {
  const list = JSON.parse(partsList());
  expect(list).toMatchObject({ bomFormat: 'CycloneDX', specVersion: expect.stringMatching(/^1\./) });
  const names: readonly string[] = list.components.map(({ name }: { name: string }) => name);
  expect(names).toEqual(expect.arrayContaining(['jose', 'undici', 'pino']));
  expect(names).not.toContain('vitest');
  for (const { name, version, licenses = [] } of list.components)
    expect([name, version.length > 0, licenses.length > 0]).toEqual([name, true, true]);
  expect(partsList()).toBe(partsList());
});

it('lists every package that is in a bundle, also one that tests use too', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'latchkey-parts-test-'));
  try {
    const bundles = [
      await buildBundle(path.join(folder, 'latchkey.mjs')),
      await buildCommandLine(path.join(folder, 'latchkey.cjs')),
    ];
    const bundled = packageFolders(bundles.flatMap(({ inputs }) => Object.keys(inputs))).map((place) => {
      const { name, version } = JSON.parse(readFileSync(path.join(place, 'package.json'), 'utf8'));
      return `${name} ${version}`;
    });
    const { components } = JSON.parse(partsList());
    const listed: readonly string[] = components.map(
      ({ group, name, version }: Record<string, string>) =>
        `${group === undefined ? '' : `${group}/`}${name} ${version}`,
    );
    expect(bundled.length).toBeGreaterThan(10);
    expect(bundled.filter((each) => !listed.includes(each))).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}, 60_000);

it('packs the command line as a package of npm, which gives both of its names', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'latchkey-install-'));
  try {
    const bundle = path.join(folder, 'bundle.cjs');
    await buildCommandLine(bundle);
    const packed = packedCommandLine('1.2.3', bundle);
    expect(packedCommandLine('1.2.3', bundle).equals(packed)).toBe(true);
    writeFileSync(path.join(folder, 'latchkey.tgz'), packed);
    writeFileSync(path.join(folder, 'package.json'), '{"private":true}');
    execFileSync('npm', ['install', '--offline', '--silent', '--no-audit', '--no-fund', './latchkey.tgz'], {
      cwd: folder,
    });
    for (const name of ['latchkey', 'kubectl-latchkey']) {
      const program = path.join(folder, 'node_modules/.bin', name);
      const PATH = `${path.dirname(process.execPath)}:${process.env['PATH']}`;
      expect(execFileSync(program, ['--version'], { encoding: 'utf8', env: { PATH } })).toMatch(
        /^latchkey \d/,
      );
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});
