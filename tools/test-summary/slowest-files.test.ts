import { expect, it } from 'vitest';
import { slowestFiles } from './slowest-files.ts';

it('lists the twenty files that took longest, imports and set-up included', () => {
  const times = Array.from({ length: 30 }, (_, i) => ({
    name: `${i}.test.ts`,
    prepareMs: 500 * i,
    testsMs: 1_000,
  }));
  const [heading, first, ...others] = slowestFiles(times);
  expect(heading).toMatch(/^The 20 slowest of 30 files/);
  expect(first).toBe('  15.5  14.5   1.0  29.test.ts');
  expect(others.map((line) => line.split('  ').at(-1))).toEqual(
    Array.from({ length: 19 }, (_, i) => `${28 - i}.test.ts`),
  );
});
