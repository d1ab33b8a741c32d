import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { linesNamedIn, titlesWithoutLine } from './contract-lines.ts';
import { readDocument } from './document.ts';

const page = readDocument('docs/internal/contract-lines.md');
const lines = [...page.matchAll(/^\| (\d(?:\.\d)?-\d+) \|/gm)].map(([, line = '']) => line);
const folder = path.resolve(import.meta.dirname, '../../test/e2e/gateway');
const tests = globSync('*.test.ts', { cwd: folder }).map((file) => ({
  file,
  text: readFileSync(path.join(folder, file), 'utf8'),
}));
const showing = tests.filter(({ text }) => linesNamedIn(text).length > 0);

describe('the lines of the contract', () => {
  it('have numbers of their own, in the order of the sections', () => {
    expect(lines.length).toBeGreaterThan(150);
    expect(lines).toEqual([...new Set(lines)]);
    const byNumber = new Intl.Collator('en', { numeric: true });
    expect(lines.map(sectionIn)).toEqual(lines.map(sectionIn).toSorted(byNumber.compare));
  });

  it('stand below the heading of their section', () => {
    for (const part of page.split(/^## /m).slice(1)) {
      const [section = ''] = part.split(' ');
      const own = lines.filter((line) => part.includes(`\n| ${line} |`));
      expect(own.map(sectionIn)).toEqual(own.map(() => section));
    }
  });

  it.each(lines)('%s is shown by a test that carries its number', (line) => {
    expect(showing.flatMap(({ text }) => linesNamedIn(text))).toContain(line);
  });
});

describe.each(showing)('$file', ({ text }) => {
  it('names no line that is not in the contract', () => {
    expect(linesNamedIn(text).filter((line) => !lines.includes(line))).toEqual([]);
  });

  it('goes through a gateway with two replicas', () => {
    expect(text).toContain('await withReplica(');
  });
});

describe.each(tests.filter(({ file }) => file.startsWith('contract')))('$file', ({ text }) => {
  it('says of each test which lines it shows', () => {
    expect(linesNamedIn(text)).not.toEqual([]);
    expect(titlesWithoutLine(text)).toEqual([]);
  });
});

describe('the names of tests', () => {
  it.each<[string, string[]]>([
    ["it('2.2-31, 8-4 names one', async () => {", ['2.2-31', '8-4']],
    ["])('9-2 is refused by %s', async (method) => {", ['9-2']],
    ["  ['2.6-1, 2.6-7', 'roles', {}],", ['2.6-1', '2.6-7']],
    ["const time = '2026-11-21T10:00:00Z';", []],
    ["it('says 2.2-31 elsewhere', () => {", []],
  ])('of %s are %j', (text, expected) => {
    expect(linesNamedIn(text)).toEqual(expected);
  });

  it.each<[string, string[]]>([
    ["it('2.2-31 names one', () => {", []],
    ["it.each(rows)('%s is kept', () => {", []],
    ["])('$line: $field', () => {", []],
    ["it('names one', () => {", ['names one']],
    ["it.each(rows)(\n    'of %s', () => {", ['of %s']],
    ["describe('what is named', () => {", []],
  ])('in %j that lack a number are %j', (text, expected) => {
    expect(titlesWithoutLine(text)).toEqual(expected);
  });
});

const sectionIn = (line: string): string => line.split('-')[0] ?? '';
