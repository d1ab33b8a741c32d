import { expect, it } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { TimeSlice } from './time-slice.ts';

it('is used up after the budget and fresh after a yield', async () => {
  const clock = new FakeClock();
  const slice = new TimeSlice(clock, 10);
  clock.advance(9);
  expect(slice.used).toBe(false);
  clock.advance(1);
  expect(slice.used).toBe(true);
  let othersRan = false;
  setImmediate(() => (othersRan = true));
  await slice.yield();
  expect([slice.used, othersRan]).toEqual([false, true]);
});
