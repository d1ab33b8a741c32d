import { expect, it } from 'vitest';
import { systemClock } from './clock.ts';

it('does not fire a timer of a hundred years at once, as setTimeout would', async () => {
  let fired = false;
  const timer = systemClock.setTimer(() => (fired = true), 100 * 365 * 86_400_000);
  await new Promise((resolve) => systemClock.setTimer(() => resolve(undefined), 5));
  timer.cancel();
  expect(fired).toBe(false);
});
