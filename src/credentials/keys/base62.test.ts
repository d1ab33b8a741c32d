import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { base62 } from './base62.ts';

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const numberOf = (text: string): bigint =>
  [...text].reduce((sum, digit) => sum * 62n + BigInt(digits.indexOf(digit)), 0n);

describe('base62', () => {
  it.each([
    [0n, 1, '0'],
    [61n, 2, '0z'],
    [62n, 2, '10'],
    [62n ** 6n - 1n, 6, 'zzzzzz'],
  ])('writes %s in %i characters as %s', (value, length, text) => {
    expect(base62(value, length)).toBe(text);
  });

  it('is read back as the same number', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
        (value) => numberOf(base62(value, 43)) === value,
      ),
    );
  });

  it.each([
    [62n, 1],
    [-1n, 4],
  ])('refuses %s in %i characters', (value, length) => {
    expect(() => base62(value, length)).toThrow(RangeError);
  });
});
