import { globSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import type { TestSpecification } from 'vitest/node';
import { isSlow, SlowFirst } from './slow-first.ts';

const projectOf = (name: string, groupOrder: number) => ({ name, config: { sequence: { groupOrder } } });
const [unit, integration] = [projectOf('unit', 0), projectOf('integration', 1)];
const specification = (moduleId: string, project: object) => ({ moduleId, project }) as TestSpecification;

it('ends with units, begins with the slow files of each project, keeps those that share an operator together, and leaves the rest to vitest', async () => {
  const cache = { getTestSpecificationResult: () => ({ failed: false, duration: 0 }) };
  const sequencer = new SlowFirst({ cache } as never);
  const files = [
    specification('src/b.test.ts', unit),
    specification('bench/benchmarks/record-memory.test.ts', unit),
    specification('test/integration/a.test.ts', integration),
    specification('test/e2e/gateway/rights.test.ts', integration),
    specification('test/e2e/targets/a.test.ts', integration),
    specification('test/e2e/input/b.test.ts', integration),
    specification('test/e2e/demo/demo.test.ts', integration),
    specification('test/e2e/targets/c.test.ts', integration),
  ];
  expect((await sequencer.sort(files)).map(({ moduleId }) => moduleId)).toEqual([
    'test/e2e/demo/demo.test.ts',
    'test/e2e/input/b.test.ts',
    'test/e2e/targets/a.test.ts',
    'test/e2e/targets/c.test.ts',
    'test/e2e/gateway/rights.test.ts',
    'test/integration/a.test.ts',
    'bench/benchmarks/record-memory.test.ts',
    'src/b.test.ts',
  ]);
});

it('begins with the slowest of the slow files', async () => {
  const cache = { getTestSpecificationResult: () => undefined, getFileStats: () => undefined };
  const files = ['test/outages/ill/network', 'bench/soak/soak', 'test/outages/clients/real-clients'];
  const sorted = await new SlowFirst({ cache } as never).sort(
    files.map((file) => specification(`${file}.test.ts`, integration)),
  );
  expect(sorted.map(({ moduleId }) => moduleId)).toEqual(files.map((file) => `${file}.test.ts`).reverse());
});

it('knows slow files by names that exist', () => {
  const root = path.resolve(import.meta.dirname, '../..');
  const files = globSync('{bench,lab,test}/**/*.test.ts', { cwd: root });
  expect(files.filter(isSlow).length).toBeGreaterThanOrEqual(12);
});
