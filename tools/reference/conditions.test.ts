import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { conditionTypes } from '../../src/api/conditions.ts';
import { reasons } from '../../src/api/reasons.ts';
import { codesIn, readDocument, rowsOf, sectionOf } from './document.ts';

const page = readDocument('docs/reference/conditions.md');
const types = rowsOf(sectionOf(page, 'Types')).map(([type]) => codesIn(type)[0]);
const rows = rowsOf(sectionOf(page, 'Reasons'));
const sources = path.resolve(import.meta.dirname, '../../src');

/** Names of `reasons` that some source other than the catalogue itself mentions. */
function usedReasons(): ReadonlySet<string> {
  const files = globSync('**/*.ts', { cwd: sources }).filter(
    (file) => !file.endsWith('.test.ts') && file !== path.join('api', 'reasons.ts'),
  );
  const texts = files.map((file) => readFileSync(path.join(sources, file), 'utf8'));
  return new Set(
    texts.flatMap((text) => [...text.matchAll(/\breasons\.(\w+)/g)].map(([, name = '']) => name)),
  );
}

describe('docs/reference/conditions.md', () => {
  it('has every condition type and no other', () => {
    expect(types.toSorted()).toEqual(Object.values<string>(conditionTypes).toSorted());
  });

  it('has every reason once and no other', () => {
    const documented = rows.map(([reason]) => codesIn(reason)[0]);
    expect(documented.toSorted()).toEqual(Object.values<string>(reasons).toSorted());
  });

  it('says of exactly those reasons that the code does not mention that they are not used yet', () => {
    const used = usedReasons();
    const unused = Object.entries(reasons).filter(([name]) => !used.has(name));
    const marked = rows.filter(([, where]) => where === 'not used yet').map(([reason]) => codesIn(reason)[0]);
    expect(marked.toSorted()).toEqual(unused.map(([, reason]) => reason).toSorted());
  });

  it('names only condition types in the column "Where"', () => {
    const named = rows.flatMap(([, where]) => codesIn(where));
    expect(types).toEqual(expect.arrayContaining([...new Set(named)]));
  });
});
