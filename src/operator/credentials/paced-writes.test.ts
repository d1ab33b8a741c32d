import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { PacedWrites } from './paced-writes.ts';

function setUp(writesPerSecond: number) {
  const clock = new FakeClock();
  const waiting: number[] = [];
  const budget = new PacedWrites(clock, writesPerSecond, (count) => waiting.push(count));
  return { clock, budget, waiting };
}

describe('PacedWrites', () => {
  it('lets as many through at once as it has writes a second, and spreads the rest in the order in which they asked', () => {
    const { budget, waiting } = setUp(2);
    expect(['a', 'b', 'c', 'd'].map((uid) => budget.reserve(uid))).toEqual([0, 0, 500, 1_000]);
    expect(waiting).toEqual([0, 1, 2]);
  });

  it('keeps the place of a credential that asks again', () => {
    const { clock, budget, waiting } = setUp(1);
    budget.reserve('a');
    expect(budget.reserve('b')).toBe(1_000);
    clock.advance(400);
    expect(budget.reserve('b')).toBe(600);
    clock.advance(600);
    expect(budget.reserve('b')).toBe(0);
    expect(waiting.at(-1)).toBe(0);
  });

  it('forgets one that needs no write any more', () => {
    const { budget, waiting } = setUp(1);
    budget.reserve('a');
    budget.reserve('b');
    budget.forget('b');
    budget.forget('nobody');
    expect(waiting).toEqual([0, 1, 0]);
  });
});
