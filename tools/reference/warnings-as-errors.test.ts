import { globSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { readDocument } from './document.ts';

const root = path.resolve(import.meta.dirname, '../..');
const pages = globSync(['*.md', 'docs/{guide,reference}/*.md'], { cwd: root }).filter((file) =>
  readDocument(file).includes('--warnings-as-errors'),
);

it('some page names --warnings-as-errors', () => {
  expect(pages).not.toEqual([]);
});

it.each(pages)(
  '%s asks with --dry-run=server first, because a warning stops nothing on the server',
  (file) => {
    const commands = readDocument(file)
      .split('\n')
      .filter((line) => line.startsWith('$ ') && line.includes('--warnings-as-errors'));
    expect(commands).not.toEqual([]);
    for (const command of commands)
      expect(command).toMatch(/--dry-run=server --warnings-as-errors && kubectl /);
  },
);
