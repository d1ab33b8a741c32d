import { expect, it } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { reasons } from '../../api/reasons.ts';
import { RetrySchedule } from './retry-schedule.ts';

const problem = { reason: reasons.certificateTimeout, message: 'nothing came' };

function setUp(): { clock: FakeClock; times: RetrySchedule } {
  const clock = new FakeClock();
  return { clock, times: new RetrySchedule(clock, { initialMs: 1_000, maxMs: 4_000, random: () => 1 }) };
}

it('waits longer after each failure, up to the most', () => {
  const { times } = setUp();
  const waits = Array.from({ length: 4 }, () => times.failed('a', 'attempt', problem).waitMs);
  expect(waits).toEqual([1_000, 2_000, 4_000, 4_000]);
});

it('lets no other reconcile be a try before its time, and reports why the last one failed', () => {
  const { clock, times } = setUp();
  times.failed('a', 'attempt', problem);
  clock.advance(400);
  expect(times.waiting('a', 'attempt')).toEqual({ problem, waitMs: 600 });
  expect(times.waiting('b', 'attempt')).toBeUndefined();
  clock.advance(600);
  expect(times.waiting('a', 'attempt')).toBeUndefined();
});

it('tries at once, and begins again, when what the try depends on has changed', () => {
  const { times } = setUp();
  times.failed('a', 'attempt', problem);
  expect(times.waiting('a', 'another')).toBeUndefined();
  expect(times.failed('a', 'another', problem).waitMs).toBe(1_000);
});

it('forgets after success', () => {
  const { times } = setUp();
  times.failed('a', 'attempt', problem);
  times.succeeded('a');
  expect(times.waiting('a', 'attempt')).toBeUndefined();
  expect(times.failed('a', 'attempt', problem).waitMs).toBe(1_000);
});

it('remembers so many and no more', () => {
  const { times } = setUp();
  for (let i = 0; i <= 20_000; i++) times.failed(`uid-${i}`, 'attempt', problem);
  expect(times.waiting('uid-0', 'attempt')).toBeUndefined();
  expect(times.waiting('uid-1', 'attempt')).toBeDefined();
});

it('has the first pause again after what stood in the way may be gone, and never a longer one than before', () => {
  const { clock, times } = setUp();
  for (let failures = 0; failures < 3; failures++) times.failed('a', 'attempt', problem);
  clock.advance(400);
  times.resume('a');
  expect(times.waiting('a', 'attempt')?.waitMs).toBe(600);
  clock.advance(600);
  times.resume('a');
  times.resume('b');
  expect(times.waiting('a', 'attempt')).toBeUndefined();
  expect(times.failed('a', 'attempt', problem).waitMs).toBe(2_000);
});
