import { existsSync, globSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { codesIn, readDocument, rowsOf } from './document.ts';

const root = path.resolve(import.meta.dirname, '../..');
const page = readDocument('docs/architecture.md');
const rows = rowsOf(page).map(
  ([first, second]) => [codesIn(first)[0] ?? '', codesIn(second)[0] ?? ''] as const,
);
const stations = rows.filter(([, file]) => file.endsWith('.ts'));
const toChange = rows.map(([first]) => first).filter((first) => /\.(?:ts|md|yaml)$/.test(first));
const folders = rows.map(([first]) => first).filter((first) => first.endsWith('/'));

describe('docs/architecture.md', () => {
  it.each(stations)('finds %s in %s', (name, file) => {
    expect(readDocument(file)).toMatch(
      new RegExp(`\\bexport (?:abstract )?(?:async )?(?:class|function|const) ${name}\\b`),
    );
  });

  it.each(toChange)('names the file %s, which is there', (file) => {
    expect(globSync(file, { cwd: root })).not.toEqual([]);
  });

  it.each(folders)('names the folder %s, which is there', (folder) => {
    expect(existsSync(path.join(root, folder))).toBe(true);
  });
});
