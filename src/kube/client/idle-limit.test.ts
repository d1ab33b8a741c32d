import { beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
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

it('takes another limit from when something came, be it shorter or longer', () => {
  const clock = new FakeClock();
  const idle = new IdleLimit(clock, 100);
  clock.advance(50);
  idle.restart(20);
  idle.restart(300);
  clock.advance(299);
  expect([idle.signal.aborted, idle.limitMs]).toEqual([false, 300]);
  idle.restart(10);
  clock.advance(10);
  expect([idle.expired, clock.pendingTimers]).toEqual([true, 0]);
});

describe('what is to be cut after a silence', () => {
  let clock: FakeClock;
  let idle: IdleLimit;

  beforeEach(() => {
    clock = new FakeClock();
    idle = new IdleLimit(clock, 100);
    clock.advance(50);
  });

  const expectCut = () => {
    const state = [idle.signal.aborted, idle.isCut, idle.expired, clock.pendingTimers];
    expect(state).toEqual([true, true, false, 0]);
  };

  it('is cut at once when it has been silent for that long, and is not expired', () => {
    idle.cutIfSilentFor(50);
    expectCut();
  });

  it('is cut as soon as it has been silent for that long', () => {
    idle.cutIfSilentFor(60);
    clock.advance(9);
    expect(idle.signal.aborted).toBe(false);
    clock.advance(1);
    expectCut();
  });

  it('is not cut when something comes before', () => {
    idle.cutIfSilentFor(60);
    clock.advance(9);
    idle.touch();
    clock.advance(99);
    expect(idle.signal.aborted).toBe(false);
    idle.abort();
    idle.cutIfSilentFor(1);
    expect([idle.isCut, clock.pendingTimers]).toEqual([false, 0]);
  });
});

it('is not expired when the caller ends it, and leaves no timer', () => {
  const clock = new FakeClock();
  const idle = new IdleLimit(clock, 100);
  idle.abort();
  expect([idle.signal.aborted, idle.expired, clock.pendingTimers]).toEqual([true, false, 0]);
});
