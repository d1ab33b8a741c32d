import { expect, it } from 'vitest';
import { FakeClock } from './fake-clock.ts';

it('runs the timers that fall due, in the order of their times', () => {
  const clock = new FakeClock();
  const ran: string[] = [];
  clock.setTimer(() => ran.push('late'), 20);
  clock.setTimer(() => ran.push('early'), 10);
  clock.setTimer(() => ran.push('never'), 31);
  clock.advance(30);
  expect(ran).toEqual(['early', 'late']);
  expect(clock.pendingTimers).toBe(1);
});

it('shows a timer the time at which it is due', () => {
  const clock = new FakeClock(1_000);
  const seen: number[] = [];
  clock.setTimer(() => seen.push(clock.now(), clock.monotonic()), 10);
  clock.advance(500);
  expect(seen).toEqual([1_010, 10]);
});

it('runs timers that timers set', () => {
  const clock = new FakeClock();
  let ran = false;
  clock.setTimer(() => clock.setTimer(() => (ran = true), 5), 5);
  clock.advance(10);
  expect(ran).toBe(true);
});

it('does not run a timer that was cancelled', () => {
  const clock = new FakeClock();
  let ran = false;
  clock.setTimer(() => (ran = true), 5).cancel();
  clock.advance(10);
  expect(ran).toBe(false);
});

it('jumps the wall clock alone', () => {
  const clock = new FakeClock();
  clock.set(5);
  expect([clock.now(), clock.monotonic()]).toEqual([5, 0]);
});
