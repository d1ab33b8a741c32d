import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { conditionTypes } from '../../src/api/conditions.ts';
import { reasonTexts } from '../../src/api/reason-texts.ts';
import { reasons } from '../../src/api/reasons.ts';
import { codesIn, readDocument, rowsOf, sectionOf } from './document.ts';

const sources = path.resolve(import.meta.dirname, '../../src');
const catalogues = ['reasons.ts', 'reason-texts.ts'].map((file) => path.join('api', file));
const maxWords = 25;

const wordsOf = (text: string): number => text.split(/\s+/).filter((word) => /\w/.test(word)).length;

/** Names of `reasons` that some source other than the catalogues mentions. */
function usedReasons(): ReadonlySet<string> {
  const files = globSync('**/*.ts', { cwd: sources }).filter(
    (file) => !file.endsWith('.test.ts') && !catalogues.includes(file),
  );
  const texts = files.map((file) => readFileSync(path.join(sources, file), 'utf8'));
  return new Set(
    texts.flatMap((text) => [...text.matchAll(/\breasons\.(\w+)/g)].map(([, name = '']) => name)),
  );
}

describe('the catalogue of reasons', () => {
  it('has no reason that the code does not use', () => {
    const used = usedReasons();
    expect(Object.keys(reasons).filter((name) => !used.has(name))).toEqual([]);
  });

  it('names only types of conditions that there are', () => {
    const named = Object.values(reasonTexts).flatMap(({ condition }) => codesIn(condition));
    expect(Object.values(conditionTypes)).toEqual(expect.arrayContaining([...new Set(named)]));
  });

  it.each(Object.entries(reasonTexts))('says of %s in whole and few words what to do', (_, text) => {
    for (const words of [text.meaning, text.fix ?? 'Nothing.']) expect(words).toMatch(/^[A-Z`].*\.$/);
    expect(wordsOf(text.fix ?? '')).toBeLessThanOrEqual(maxWords);
  });

  it.each(Object.entries(reasonTexts).filter(([, { condition }]) => / False/.test(condition ?? '')))(
    'has a way out of %s',
    (_, { fix }) => {
      expect(fix).toBeDefined();
    },
  );
});

it('docs/reference/status.md has every type of condition and no other', () => {
  const page = readDocument('docs/reference/status.md');
  const types = rowsOf(sectionOf(page, 'Types')).map(([type]) => codesIn(type)[0]);
  expect(types.toSorted()).toEqual(Object.values<string>(conditionTypes).toSorted());
});
