import { expect, it } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { sleep } from './sleep.ts';

it('ends after the delay', async () => {
  const clock = new FakeClock();
  const slept = sleep(clock, 100);
  clock.advance(100);
  await expect(slept).resolves.toBeUndefined();
});

it('ends at once when the signal aborts, and leaves no timer', async () => {
  const clock = new FakeClock();
  const abort = new AbortController();
  const slept = sleep(clock, 100, abort.signal);
  abort.abort();
  await slept;
  await sleep(clock, 100, abort.signal);
  expect(clock.pendingTimers).toBe(0);
});
