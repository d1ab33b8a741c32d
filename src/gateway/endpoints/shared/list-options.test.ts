import { describe, expect, it } from 'vitest';
import { checkListOptions, readLimit, readOldestVersion, readWantedVersion } from './list-options.ts';
import { Refusal } from './reply.ts';

/** The status of the refusal. */
function statusOf(act: () => unknown): number {
  try {
    act();
    return 200;
  } catch (error) {
    if (error instanceof Refusal) return error.answer.status;
    throw error;
  }
}
const check = (query: string, isWatch = false) =>
  statusOf(() => checkListOptions(new URLSearchParams(query), isWatch));
const read = (query: string) => readWantedVersion(new URLSearchParams(query));

describe('the options of a list', () => {
  it.each([
    'resourceVersionMatch=Exact',
    'resourceVersionMatch=NotOlderThan',
    'resourceVersion=5&resourceVersionMatch=exact',
    'resourceVersion=0&resourceVersionMatch=Exact',
    'resourceVersion=5&resourceVersionMatch=Exact&continue=a',
    'sendInitialEvents=false',
  ])('are invalid: %s', (query) => expect(check(query)).toBe(422));

  it.each([
    '',
    'resourceVersion=5&resourceVersionMatch=Exact',
    'resourceVersion=0&resourceVersionMatch=NotOlderThan',
    'resourceVersionMatch=',
    'resourceVersion=5&continue=a',
  ])('are valid: "%s"', (query) => expect(check(query)).toBe(200));
});

describe('the options of a watch', () => {
  it.each([
    'sendInitialEvents=true',
    'sendInitialEvents=true&resourceVersionMatch=Exact',
    'resourceVersionMatch=NotOlderThan&resourceVersion=5',
    'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&continue=a',
  ])('are invalid: %s', (query) => expect(check(query, true)).toBe(422));

  it.each([
    '',
    'resourceVersion=5',
    'sendInitialEvents=true&resourceVersionMatch=NotOlderThan',
    'sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=5',
  ])('are valid: "%s"', (query) => expect(check(query, true)).toBe(200));
});

describe('the version that a list must have', () => {
  it.each([
    ['', undefined],
    ['resourceVersion=', undefined],
    ['resourceVersion=0', undefined],
    ['resourceVersion=00&limit=5', undefined],
    ['resourceVersion=0&continue=a', undefined],
    ['resourceVersion=5', { resourceVersion: '5', isExact: false }],
    ['resourceVersion=05&limit=0', { resourceVersion: '5', isExact: false }],
    ['resourceVersion=5&limit=1', { resourceVersion: '5', isExact: true }],
    ['resourceVersion=5&limit=1&resourceVersionMatch=NotOlderThan', { resourceVersion: '5', isExact: false }],
    ['resourceVersion=5&resourceVersionMatch=Exact', { resourceVersion: '5', isExact: true }],
    ['resourceVersion=18446744073709551615', { resourceVersion: '18446744073709551615', isExact: false }],
  ])('is read from "%s"', (query, wanted) => expect(read(query)).toEqual(wanted));

  it.each(['abc', '-1', '1.5', '18446744073709551616', '1 ', '0x1'])('is no version: "%s"', (version) =>
    expect(statusOf(() => read(`resourceVersion=${version}`))).toBe(400),
  );

  it('does not stand beside continue', () =>
    expect(statusOf(() => read('resourceVersion=5&continue=a'))).toBe(400));
});

describe('the version that an object must not be older than', () => {
  const readOldest = (query: string) => readOldestVersion(new URLSearchParams(query));

  it.each(['', 'resourceVersion=', 'resourceVersion=0'])('is none in "%s"', (query) =>
    expect(readOldest(query)).toBeUndefined(),
  );

  it.each(['', '&resourceVersionMatch=Exact', '&limit=1', '&continue=a'])(
    'is all that counts: "%s"',
    (more) =>
      expect(readOldest(`resourceVersion=5${more}`)).toEqual({ resourceVersion: '5', isExact: false }),
  );

  it('is refused where it is no version', () =>
    expect(statusOf(() => readOldest('resourceVersion=abc'))).toBe(400));
});

describe('the limit of a list', () => {
  const limitIn = (query: string) => readLimit(new URLSearchParams(query));

  it.each(['', 'limit=0', 'limit=-1', 'limit=-9223372036854775808'])('is none in "%s"', (query) =>
    expect(limitIn(query)).toBe(Number.POSITIVE_INFINITY),
  );

  it.each([
    ['limit=1', 1],
    ['limit=%2B10', 10],
    ['limit=9223372036854775807', 2 ** 63],
  ])('is read from %s', (query, limit) => expect(limitIn(query)).toBe(limit));

  it.each(['limit=', 'limit=abc', 'limit=1.5', 'limit=9223372036854775808'])('is no number: "%s"', (query) =>
    expect(statusOf(() => limitIn(query))).toBe(400),
  );
});
