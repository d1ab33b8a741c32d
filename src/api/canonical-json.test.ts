import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson } from './canonical-json.ts';

const reversed = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, member]) => [name, reversed(member)]),
  );
};

describe('canonicalJson', () => {
  it.each([
    [{ b: 1, a: [true, null, 'x'] }, '{"a":[true,null,"x"],"b":1}'],
    [{ a: undefined, b: null }, '{"b":null}'],
    [{ ä: 1, z: 2, Z: 3 }, '{"Z":3,"z":2,"ä":1}'],
    [{ 10: 'a', 9: 'b' }, '{"10":"a","9":"b"}'],
    ['\u2028"\\\ud800', '"\u2028\\"\\\\\\ud800"'],
    [[1e21, -0, 0.1], '[1e+21,0,0.1]'],
  ])('writes %j as %s', (value, text) => {
    expect(canonicalJson(value)).toBe(text);
  });

  it('does not depend on the order of members, and is valid JSON of the same value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        const text = canonicalJson(value);
        expect(canonicalJson(reversed(value))).toBe(text);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it('bounds its depth', () => {
    const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));
    expect(canonicalJson(nested(64))).toHaveLength(128);
    expect(() => canonicalJson(nested(5000))).toThrow(RangeError);
  });
});
