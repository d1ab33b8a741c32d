import { expect, it } from 'vitest';
import { FakeClock } from '../fake-clock.ts';
import { IdleLimit } from './idle-limit.ts';

it('aborts after silence, counted from the last thing that came', () => {
  const clock = new FakeClock();
  const idle = new IdleLimit(clock, 100);
  clock.advance(90);
  idle.touch();
  clock.advance(99);
  expect(idle.signal.aborted).toBe(false);
  clock.advance(1);
  expect([idle.signal.aborted, idle.expired]).toEqual([true, true]);
});

it('aborts at once where nothing has come since a moment, and is not expired', () => {
  const clock = new FakeClock();
  const idle = new IdleLimit(clock, 100);
  clock.advance(50);
  idle.touch();
  expect([idle.abortIfSilentSince(49), idle.signal.aborted]).toEqual([false, false]);
  expect([idle.abortIfSilentSince(50), idle.signal.aborted]).toEqual([true, true]);
  expect([idle.abortIfSilentSince(50), idle.expired, clock.pendingTimers]).toEqual([false, false, 0]);
});

it('is not expired when the caller ends it, and leaves no timer', () => {
  const clock = new FakeClock();
  const idle = new IdleLimit(clock, 100);
  idle.abort();
  expect([idle.signal.aborted, idle.expired, clock.pendingTimers]).toEqual([true, false, 0]);
});
