import { expect, it } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { followClockSteps } from './clock-steps.ts';

it('steps of the wall clock are noticed within a second, once each, forward and back', async () => {
  const clock = new FakeClock();
  const stop = new AbortController();
  const steps: number[] = [];
  const running = followClockSteps(clock, (step) => void steps.push(step), stop.signal);
  const step = (ms: number) => clock.set(clock.now() + ms);
  await clock.advanceAsync(60_000, 500);
  expect(steps).toEqual([]);
  step(3_600_000);
  await clock.advanceAsync(10_000, 500);
  expect(steps).toEqual([3_600_000]);
  step(-3_600_000);
  await clock.advanceAsync(10_000, 500);
  expect(steps).toEqual([3_600_000, -3_600_000]);
  stop.abort();
  await running;
  expect(clock.pendingTimers).toBe(0);
});

it('small corrections count when they add up', async () => {
  const clock = new FakeClock();
  const stop = new AbortController();
  const steps: number[] = [];
  const running = followClockSteps(clock, (step) => void steps.push(step), stop.signal);
  for (let count = 0; count < 4; count++) {
    clock.set(clock.now() + 500);
    await clock.advanceAsync(5_000, 500);
  }
  expect(steps).toEqual([2_000]);
  stop.abort();
  await running;
});
