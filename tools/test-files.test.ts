import { globSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import config from '../vitest.config.ts';

const root = path.join(import.meta.dirname, '..');
const patterns = (config.test?.projects ?? []).flatMap((project) =>
  typeof project === 'object' && 'test' in project ? (project.test?.include ?? []) : [],
);

it.each(globSync('{src,tools,test,bench}/**/*.test.ts', { cwd: root }))(
  '%s belongs to one project',
  (file) => {
    expect(patterns.filter((pattern) => path.matchesGlob(file, pattern))).toHaveLength(1);
  },
);
