import { existsSync, globSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { readDocument } from './document.ts';

const root = path.resolve(import.meta.dirname, '../..');
const pages = [
  'CONTRIBUTING.md',
  ...globSync('docs/internal/{add,tests,documents}.md', { cwd: root }).sort(),
];

it.each(pages)('%s names files and folders that are there', (page) => {
  const named = [
    ...readDocument(page).matchAll(/`((?:src|tools|test|lab|bench|crds|config|docs)\/[^`\s<]+)`/g),
  ];
  expect(named.length).toBeGreaterThan(4);
  expect(named.map(([, file = '']) => file).filter((file) => !existsSync(path.join(root, file)))).toEqual([]);
});

it('CONTRIBUTING.md is read in three minutes', () => {
  expect(readDocument('CONTRIBUTING.md').split(/\s+/).length).toBeLessThanOrEqual(700);
});
