import { describe, expect, it } from 'vitest';
import { policyFiles } from '../policies/index.ts';
import { codesIn, readDocument, rowsOf, sectionOf } from './document.ts';

const [security, comfort] = sectionOf(readDocument('SECURITY.md'), 'What each policy protects').split(
  'The others are comfort.',
);
const namesIn = (text: string | undefined) => rowsOf(text ?? '').flatMap(([cell]) => codesIn(cell));
const marked = (protects: string): readonly string[] =>
  Object.values(policyFiles)
    .flat()
    .filter((policy) => policy.protects === protects)
    .flatMap(({ manifests }) => manifests.map(({ metadata }) => metadata.name.replace('latchkey-', '')));

describe('SECURITY.md', () => {
  it.each([
    ['security', security],
    ['comfort', comfort],
  ])('lists the policies that are marked with %s, and no others', (protects, text) => {
    const listed = namesIn(text).filter((name) => !name.includes('…'));
    expect(listed.length).toBeGreaterThan(2);
    expect(new Set(listed)).toEqual(new Set(marked(protects)));
  });
});
