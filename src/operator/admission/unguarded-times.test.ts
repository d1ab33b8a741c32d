import { describe, expect, it } from 'vitest';
import { UnguardedTimes } from './unguarded-times.ts';

function timesOf(...each: readonly (readonly [after: number, until?: number])[]): UnguardedTimes {
  const times = new UnguardedTimes();
  for (const [after, until] of each) {
    times.begin(String(after));
    if (until !== undefined) times.end(String(until));
  }
  return times;
}

describe('UnguardedTimes', () => {
  it.each<[string, UnguardedTimes, readonly [first: number, last: number], boolean]>([
    ['none', timesOf(), [1, 1_000], false],
    ['its first moment is the one after the last that was guarded', timesOf([9, 20]), [9, 9], false],
    ['one right after it', timesOf([9, 20]), [10, 10], true],
    ['its last moment', timesOf([9, 20]), [20, 20], true],
    ['one after it', timesOf([9, 20]), [21, 21], false],
    ['a change of unknown time that may have come before or in it', timesOf([9, 20]), [5, 12], true],
    ['a change of unknown time that may have come in it or after', timesOf([9, 20]), [15, 30], true],
    ['a change of unknown time around it', timesOf([9, 20]), [1, 100], true],
    ['one that has not ended', timesOf([9]), [1_000_000, 1_000_000], true],
    ['what lies between two', timesOf([9, 20], [30, 40]), [25, 28], false],
    ['the second of two', timesOf([9, 20], [30, 40]), [35, 35], true],
  ])('tells what was written in one: %s', (_, times, [first, last], expected) => {
    expect(times.overlap(String(first), String(last))).toBe(expected);
  });

  it('is open from its beginning to its end, and one that is open goes on', () => {
    const times = timesOf([9]);
    times.begin('15');
    expect(times.isOpen).toBe(true);
    times.end('20');
    expect(times.isOpen).toBe(false);
    times.end('30');
    expect([times.overlap('12', '12'), times.overlap('25', '25')]).toEqual([true, false]);
  });

  it('forgets none, however many there are: the oldest ones grow into one', () => {
    const each = Array.from({ length: 150 }, (_, index) => [10 * index + 2, 10 * index + 5] as const);
    const times = timesOf(...each);
    for (const [after] of each) expect(times.overlap(String(after + 1), String(after + 1))).toBe(true);
    expect(times.overlap('1', '1')).toBe(false);
    expect(times.overlap('1488', '1489')).toBe(false);
    expect(times.overlap('7', '8')).toBe(true);
  });
});
