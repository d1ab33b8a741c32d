import { describe, expect, it } from 'vitest';
import { RecheckSchedule } from './recheck-schedule.ts';

const times = (random: number, recheckMs = 60_000) =>
  new RecheckSchedule({ recheckMs, random: () => random });

describe('RecheckSchedule', () => {
  it.each([
    [0, 48_000],
    [0.5, 54_000],
  ])('checks a working target at the regular time, with jitter %d: after %d ms', (random, expected) => {
    expect(times(random).afterSuccess('a')).toEqual({ requeueAfterMs: expected });
  });

  it('waits longer with each failure, and never longer than the regular time', () => {
    const failing = times(1);
    const delays = Array.from({ length: 9 }, () => failing.afterFailure('a').requeueAfterMs);
    expect(delays).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
  });

  it('never waits longer than a regular time below a second', () => {
    expect(times(1, 500).afterFailure('a')).toEqual({ requeueAfterMs: 500 });
  });

  it.each(['afterSuccess', 'forget'] as const)('begins again after %s, for that target alone', (end) => {
    const some = times(1);
    for (const uid of ['a', 'b']) {
      some.afterFailure(uid);
      some.afterFailure(uid);
    }
    some[end]('a');
    expect(
      [some.afterFailure('a'), some.afterFailure('b')].map(({ requeueAfterMs }) => requeueAfterMs),
    ).toEqual([1_000, 4_000]);
  });
});
