import { expect, it } from 'vitest';
import { isModestJSON } from './json-bounds.ts';

const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;

it.each<[string, string]>([
  ['nothing', ''],
  ['an object', '{"metadata":{"name":"a"},"items":[1,2]}'],
  ['512 levels', nested(512)],
  ['many lists beside each other', `[${Array(1_000).fill('[{}]').join()}]`],
  ['brackets in text', JSON.stringify(['['.repeat(1_000), `\\"${'{'.repeat(1_000)}`])],
  ['commas in text', JSON.stringify(','.repeat(1_000_000))],
  ['text that does not end', `["${'['.repeat(1_000)}`],
  ['text that ends in a backslash', '"\\'],
])('modest: %s', (_, text) => {
  expect(isModestJSON(text)).toBe(true);
});

it.each<[string, string]>([
  ['513 levels', nested(513)],
  ['513 levels of objects', `${'{"a":'.repeat(513)}1${'}'.repeat(513)}`],
  ['a million levels that never end', '['.repeat(1_000_000)],
  ['brackets after text with a quote', `["\\"",${nested(512)}]`],
  ['a million numbers', `[${Array(1_000_000).fill(1).join()}]`],
  ['a million empty objects', `[${Array(500_000).fill('{}').join()}]`],
])('not modest: %s', (_, text) => {
  expect(isModestJSON(text)).toBe(false);
});
