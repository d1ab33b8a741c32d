import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { median, percentile, percentileOf, summarize } from './statistics.ts';

const values = fc.array(fc.integer(), { minLength: 1, maxLength: 50 });

describe('the median', () => {
  it.each([
    [[7], 7],
    [[3, 1, 2], 2],
    [[4, 1, 3, 2], 2.5],
    [[10, 9, 100], 10],
  ])('of %j is %d', (list, expected) => {
    expect(median(list)).toBe(expected);
  });

  it('leaves the list as it was', () => {
    const list = [3, 1, 2];
    median(list);
    expect(list).toEqual([3, 1, 2]);
  });

  it('has as many values at or below it as at or above it', () => {
    fc.assert(
      fc.property(values, (list) => {
        const middle = median(list);
        const [low, high] = [
          list.filter((value) => value <= middle),
          list.filter((value) => value >= middle),
        ];
        return low.length * 2 >= list.length && high.length * 2 >= list.length;
      }),
    );
  });
});

describe('a percentile', () => {
  const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);

  it.each([
    [0, 1],
    [1, 1],
    [50, 50],
    [99, 99],
    [99.5, 100],
    [100, 100],
  ])('of %d %% of 1 to 100 is %d', (percent, expected) => {
    expect(percentile(hundred, percent)).toBe(expected);
  });

  it('is one of the values', () => {
    fc.assert(
      fc.property(values, fc.double({ min: 0, max: 100, noNaN: true }), (list, percent) =>
        list.includes(percentile(list, percent)),
      ),
    );
  });

  it.each([-1, 100.1, Number.NaN])('of %d %% does not exist', (percent) => {
    expect(() => percentile([1], percent)).toThrow(RangeError);
  });
});

describe('a summary', () => {
  it('names the median and both ends', () => {
    expect(summarize([5, 1, 3])).toEqual({ median: 3, min: 1, max: 5 });
  });

  it.each([[[]], [[1, Number.NaN]]])('of %j does not exist', (list) => {
    expect(() => summarize(list)).toThrow(RangeError);
  });
});

it('the percentile of one figure leaves the others out', () => {
  const samples = [1, 2, 3, 4].map((ready) => ({ ready, hand: -ready }));
  expect(percentileOf(samples, 'ready', 75)).toBe(3);
  expect(percentileOf(samples, 'hand', 75)).toBe(-2);
});
