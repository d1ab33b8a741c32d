import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { buildCommandLine } from '../bundle/build-command-line.ts';
import { packedChart, packedCommandLine, partsList } from './artifacts.ts';

it('packs the chart to the same bytes each time, with every file in it', () => {
  const packed = packedChart();
  expect(packedChart().equals(packed)).toBe(true);
  const names = execFileSync('tar', ['-tz'], { input: packed, encoding: 'utf8' }).split('\n');
  expect(names).toEqual(expect.arrayContaining(['latchkey/Chart.yaml', 'latchkey/templates/policies.yaml']));
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
