import { describe, expect, it } from 'vitest';
import { formatInstant, parseEnd, parseInstant } from './instant.ts';

describe('parseInstant', () => {
  it.each([
    ['2026-11-21T10:00:00Z', Date.UTC(2026, 10, 21, 10)],
    ['2026-11-21T10:00:00.5Z', Date.UTC(2026, 10, 21, 10) + 500],
    ['2026-11-21T10:00:00.123456Z', Date.UTC(2026, 10, 21, 10) + 123],
    ['2026-11-21T12:00:00+02:00', Date.UTC(2026, 10, 21, 10)],
  ])('reads %s', (text, instant) => {
    expect(parseInstant(text)).toBe(instant);
  });

  it.each([
    undefined,
    null,
    '',
    'never',
    '2026-11-21',
    '2026-13-21T10:00:00Z',
    '2026-11-21T10:00:00',
    'Sat Nov 21 2026',
    1_795_255_200_000,
    {},
  ])('does not read %j', (value) => {
    expect(parseInstant(value)).toBeUndefined();
  });
});

describe('parseEnd', () => {
  it.each([undefined, null])('knows no end for %j', (value) => {
    expect(parseEnd(value)).toBeUndefined();
  });

  it.each(['', 'never', 7, {}])('counts %j as over long ago', (value) => {
    expect(parseEnd(value)).toBe(0);
  });
});

describe('formatInstant', () => {
  it('writes whole seconds, rounded down', () => {
    expect(formatInstant(Date.UTC(2026, 10, 21, 10) + 999)).toBe('2026-11-21T10:00:00Z');
  });
});
