import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cpuMs } from '../../../test/fakes/cpu-time.ts';
import { hasRepeatedKey } from './json-bounds.ts';

describe('a key', () => {
  it.each([
    '{"a":1,"a":2}',
    '{"a":{"b":[{"c":1,"c":1}]}}',
    '{"a":1,"b":"{","a":{}}',
    '{"a":1,"\\u0061":2}',
    '{"a\\"b":1,"a\\"b":2}',
    '{"a":["x"],"b":[],"a":1}',
    '[{},{"a":{},"a":[]}]',
  ])('stands twice in %s', (json) => {
    JSON.parse(json);
    expect(hasRepeatedKey(json)).toBe(true);
  });

  it.each([
    '{"a":"a","b":"a"}',
    '{"a":{"a":{"a":1}}}',
    '[{"a":1},{"a":1}]',
    '{"a":"{\\"a\\":1","b":"\\\\"}',
    '"a"',
    '5',
  ])('stands once in %s', (json) => {
    JSON.parse(json);
    expect(hasRepeatedKey(json)).toBe(false);
  });

  it('stands once in whatever is written as JSON', () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => !hasRepeatedKey(JSON.stringify(value, null, 1))));
  });

  it.each([
    ['a long text', JSON.stringify({ a: '\\'.repeat(500_000) })],
    ['many values', JSON.stringify(Array.from({ length: 500_000 }, () => 1))],
    [
      'many keys',
      JSON.stringify(Object.fromEntries(Array.from({ length: 80_000 }, (_, key) => [`key-${key}`, 1]))),
    ],
  ])('is looked for in a megabyte of %s in less than half a second', (_, json) => {
    expect(cpuMs(() => hasRepeatedKey(json))).toBeLessThan(500);
  });
});
