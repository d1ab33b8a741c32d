import { expect, it } from 'vitest';
import { TimeShare } from './time-share.ts';

/** How often in ten seconds someone may do what takes 10 ms each time. */
function timesIn10s(isAlone: boolean): number {
  const share = new TimeShare({ isAlone: () => isAlone });
  let times = 0;
  for (let now = 0; now < 10_000; now += 10) {
    if (!share.mayGoOn('mallory', now)) continue;
    times += 1;
    share.charge('mallory', 10, now + 10);
  }
  return times;
}

it('who is not alone has a tenth of the time in the long run', () => {
  expect(timesIn10s(false)).toBeGreaterThanOrEqual(100);
  expect(timesIn10s(false)).toBeLessThan(112);
});

it('who is alone has all of it', () => {
  expect(timesIn10s(true)).toBe(1_000);
});

it('who had all of it while alone has a tenth from the moment when another one comes', () => {
  let isAlone = true;
  const share = new TimeShare({ isAlone: () => isAlone });
  for (let now = 0; now < 10_000; now += 10) share.charge('mallory', 10, now + 10);
  isAlone = false;
  expect(share.mayGoOn('mallory', 10_000)).toBe(true);
  share.charge('mallory', 10, 10_010);
  expect([10_010, 10_090, 10_100].map((now) => share.mayGoOn('mallory', now))).toEqual([false, false, true]);
});

it('what one has taken is nothing to another one, and is forgotten when it is paid for', () => {
  const share = new TimeShare({ isAlone: () => false });
  share.charge('mallory', 500, 500);
  expect([share.mayGoOn('mallory', 500), share.mayGoOn('alice', 500)]).toEqual([false, true]);
  share.forget(4_000);
  expect(share.mayGoOn('mallory', 4_000)).toBe(false);
  share.forget(5_001);
  expect(share.mayGoOn('mallory', 5_001)).toBe(true);
});

it('who has taken very much waits five seconds', () => {
  const share = new TimeShare({ isAlone: () => false });
  share.charge('mallory', 100_000, 0);
  expect([4_999, 5_000].map((now) => share.mayGoOn('mallory', now))).toEqual([false, true]);
});
