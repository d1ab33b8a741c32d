import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../kube/fake-clock.ts';
import { ExpiryBudget } from './expiry-budget.ts';

describe('ExpiryBudget', () => {
  it('lets as many through at once as it has writes a second, and spreads the rest in the order in which they asked', () => {
    const budget = new ExpiryBudget(new FakeClock(), 2);
    expect(['a', 'b', 'c', 'd'].map((uid) => budget.reserve(uid))).toEqual([0, 0, 500, 1_000]);
    expect(budget.waiting).toBe(2);
  });

  it('keeps the place of a credential that asks again', () => {
    const clock = new FakeClock();
    const budget = new ExpiryBudget(clock, 1);
    budget.reserve('a');
    expect(budget.reserve('b')).toBe(1_000);
    clock.advance(400);
    expect(budget.reserve('b')).toBe(600);
    clock.advance(600);
    expect(budget.reserve('b')).toBe(0);
    expect(budget.waiting).toBe(0);
  });

  it('forgets one that needs no write any more', () => {
    const budget = new ExpiryBudget(new FakeClock(), 1);
    budget.reserve('a');
    budget.reserve('b');
    budget.forget('b');
    expect(budget.waiting).toBe(0);
  });
});
