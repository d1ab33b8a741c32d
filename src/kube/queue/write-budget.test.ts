import fc from 'fast-check';
import { expect, it } from 'vitest';
import { WriteBudget } from './write-budget.ts';

it('lets the burst through at once and the rest in line at the rate', () => {
  const budget = new WriteBudget({ rate: 100, burst: 3 });
  expect(Array.from({ length: 6 }, () => budget.reserve(0))).toEqual([0, 0, 0, 10, 20, 30]);
});

it('fills up again while no one writes, to the burst and no further', () => {
  const budget = new WriteBudget({ rate: 100, burst: 2 });
  budget.reserve(0);
  budget.reserve(0);
  expect(Array.from({ length: 4 }, () => budget.reserve(60_000))).toEqual([0, 0, 10, 20]);
});

it('takes nothing when a try fails', () => {
  const budget = new WriteBudget({ rate: 1, burst: 1 });
  expect([
    budget.tryReserve(0),
    budget.tryReserve(0),
    budget.tryReserve(999),
    budget.tryReserve(1_000),
  ]).toEqual([true, false, false, true]);
});

it('lets a write through after a pause, at any time and rate', () => {
  const times = fc.double({ min: 0, max: 1e9, noNaN: true });
  fc.assert(
    fc.property(times, fc.double({ min: 0.01, max: 1e4, noNaN: true }), (now, rate) => {
      const budget = new WriteBudget({ rate, burst: 1 });
      expect([budget.tryReserve(now), budget.reserve(now + 2_000 / rate)]).toEqual([true, 0]);
    }),
  );
});

it('never allows more than burst and rate together in any span of time', () => {
  const arrivals = fc.array(fc.nat(100), { minLength: 1, maxLength: 200 });
  fc.assert(
    fc.property(
      arrivals,
      fc.integer({ min: 1, max: 50 }),
      fc.integer({ min: 1, max: 20 }),
      (gaps, rate, burst) => {
        const budget = new WriteBudget({ rate, burst });
        let now = 0;
        const writes = gaps.map((gap) => {
          now += gap;
          return now + budget.reserve(now);
        });
        for (const [index, start] of writes.entries()) {
          for (const [count, end] of writes.slice(index).entries()) {
            expect(count + 1).toBeLessThanOrEqual(burst + ((end - start) / 1000) * rate + 1 + 1e-6);
          }
        }
      },
    ),
    { numRuns: 50 },
  );
});

it.each([
  { rate: 0, burst: 1 },
  { rate: 1, burst: 0 },
  { rate: Number.NaN, burst: 1 },
])('refuses rate $rate with burst $burst', (options) => {
  expect(() => new WriteBudget(options)).toThrow(RangeError);
});
