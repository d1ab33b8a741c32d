import { expect, it } from 'vitest';
import { BackOff, backOffDelay } from './back-off.ts';

const most = { initialMs: 100, maxMs: 1_000, random: () => 1 };

it('doubles up to the longest delay, and starts again after success', () => {
  const backOff = new BackOff(most);
  const delays = Array.from({ length: 6 }, () => backOff.next());
  backOff.reset();
  expect([...delays, backOff.next()]).toEqual([100, 200, 400, 800, 1_000, 1_000, 100]);
});

it('never waits less than half of the delay', () => {
  expect(backOffDelay(2, { ...most, random: () => 0 })).toBe(200);
});

it('stays at the longest delay after any number of failures', () => {
  expect(backOffDelay(100_000, most)).toBe(1_000);
});
