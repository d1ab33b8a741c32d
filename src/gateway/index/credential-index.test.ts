import { expect, it } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { steadyTime } from './credential-index.ts';

it('follows the wall clock forward, and never back behind the time that has passed', () => {
  const clock = new FakeClock(1_000_000);
  const now = steadyTime(clock);
  clock.advance(5_000);
  expect(now()).toBe(1_005_000);
  clock.set(1_005_000 - 3_600_000);
  expect(now()).toBe(1_005_000);
  clock.advance(1_000);
  expect(now()).toBe(1_006_000);
  clock.set(2_000_000);
  expect(now()).toBe(2_000_000);
});
