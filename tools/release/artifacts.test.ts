import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { packedChart, partsList } from './artifacts.ts';

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
