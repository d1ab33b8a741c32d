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
  it.each<[string, UnguardedTimes, number, boolean]>([
    ['there was none', timesOf(), 1, false],
    ['the last moment that was guarded', timesOf([9, 20]), 9, false],
    ['the moment after it', timesOf([9, 20]), 10, true],
    ['its last moment', timesOf([9, 20]), 20, true],
    ['after it', timesOf([9, 20]), 21, false],
    ['it has not ended', timesOf([9]), 1_000_000, true],
    ['between two', timesOf([9, 20], [30, 40]), 25, false],
    ['in the second of two', timesOf([9, 20], [30, 40]), 35, true],
  ])('tells what was written in one: %s', (_, times, written, expected) => {
    expect(times.overlap(String(written))).toBe(expected);
  });

  it.each<[string, readonly [since: number, written: number], boolean]>([
    ['before or in it', [5, 12], true],
    ['in it or after', [15, 30], true],
    ['around it', [1, 100], true],
    ['after its last moment', [20, 30], false],
    ['up to the last moment that was guarded', [1, 9], false],
  ])(
    'counts what may have been written in one, at a time that no one knows: %s',
    (_, [since, written], expected) => {
      expect(timesOf([9, 20]).overlap(String(written), String(since))).toBe(expected);
    },
  );

  it('is open from its beginning to its end, and one that is open goes on', () => {
    const times = timesOf([9]);
    times.begin('15');
    times.begin('7');
    expect([times.overlap('7'), times.overlap('8')]).toEqual([false, true]);
    expect(times.isOpen).toBe(true);
    times.end('20');
    expect(times.isOpen).toBe(false);
    times.end('30');
    expect([times.overlap('12'), times.overlap('25')]).toEqual([true, false]);
  });

  it('forgets none, however many there are: the oldest ones grow into one', () => {
    const each = Array.from({ length: 150 }, (_, index) => [10 * index + 2, 10 * index + 5] as const);
    const times = timesOf(...each);
    for (const [after] of each) expect(times.overlap(String(after + 1))).toBe(true);
    expect(times.overlap('1')).toBe(false);
    expect(times.overlap('1489', '1487')).toBe(false);
    expect(times.overlap('8')).toBe(true);
  });
});
