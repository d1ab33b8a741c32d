import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatDuration, parseDuration } from './duration.ts';

describe('parseDuration', () => {
  it.each([
    ['0', 0],
    ['250ms', 250],
    ['30s', 30_000],
    ['10m', 600_000],
    ['1h30m', 5_400_000],
    ['1.5h', 5_400_000],
    ['30d', 2_592_000_000],
    ['0s', 0],
  ])('reads %s as %i milliseconds', (text, milliseconds) => {
    expect(parseDuration(text)).toBe(milliseconds);
  });

  it.each([
    '',
    '30',
    '-5s',
    '+5s',
    '5 s',
    '5S',
    '5w',
    's',
    '1h 30m',
    '.5h',
    '1e3s',
    '99999999999999999d',
    '٣s',
  ])('refuses "%s"', (text) => {
    expect(parseDuration(text)).toBeUndefined();
  });
});

describe('formatDuration', () => {
  it.each([
    [0, '0s'],
    [90_000, '90s'],
    [2_592_000_000, '30d'],
    [1_500, '1500ms'],
  ])('writes %i as %s', (milliseconds, text) => {
    expect(formatDuration(milliseconds)).toBe(text);
  });

  it('is read back to the same value', () => {
    fc.assert(
      fc.property(fc.nat({ max: 10_000_000_000_000 }), (milliseconds) => {
        expect(parseDuration(formatDuration(milliseconds))).toBe(milliseconds);
      }),
    );
  });
});
