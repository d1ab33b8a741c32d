import { expect, it } from 'vitest';
import { withinJsonBounds } from './json-bounds.ts';

const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;

it.each<[string, string]>([
  ['nothing', ''],
  ['an object', '{"metadata":{"name":"a"},"items":[1,2]}'],
  ['10,100 levels', nested(10_100)],
  ['many lists beside each other', `[${Array(1_000).fill('[{}]').join()}]`],
  ['brackets in text', JSON.stringify(['['.repeat(1_000), `\\"${'{'.repeat(1_000)}`])],
  ['commas in text', JSON.stringify(','.repeat(1_000_000))],
  ['text that does not end', `["${'['.repeat(1_000)}`],
  ['text that ends in a backslash', '"\\'],
])('modest: %s', (_, text) => {
  expect(withinJsonBounds(text)).toBe(true);
});

it.each<[string, string]>([
  ['10,101 levels', nested(10_101)],
  ['10,101 levels of objects', `${'{"a":'.repeat(10_101)}1${'}'.repeat(10_101)}`],
  ['a million levels that never end', '['.repeat(1_000_000)],
  ['brackets after text with a quote', `["\\"",${nested(10_100)}]`],
  ['a million numbers', `[${Array(1_000_000).fill(1).join()}]`],
  ['a million empty objects', `[${Array(500_000).fill('{}').join()}]`],
])('not modest: %s', (_, text) => {
  expect(withinJsonBounds(text)).toBe(false);
});
