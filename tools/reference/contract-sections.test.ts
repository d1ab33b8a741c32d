import { globSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const page = readFileSync('docs/reference/contract.md', 'utf8');
const sections = [...page.matchAll(/^\| (\d(?:\.\d)?) \|/gm)].map(([, section = '']) => section);
const tests = globSync('test/e2e/gateway/*.test.ts').map((file) => readFileSync(file, 'utf8'));

/** `'2.4, 4.2 a token'` is about two of them. */
const numbered = /(?:describe|it|\))\(\s*'((?:\d(?:\.\d)?)(?:, \d(?:\.\d)?)*) /g;
const named = new Set(
  tests.flatMap((text) => [...text.matchAll(numbered)].flatMap(([, numbers = '']) => numbers.split(', '))),
);

it('every section of the contract has a test that carries its number, and no test another one', () => {
  expect(sections.length).toBeGreaterThan(10);
  expect([...named].toSorted()).toEqual(sections.toSorted());
});
