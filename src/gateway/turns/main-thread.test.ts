import { expect, it } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { MainThread } from './main-thread.ts';

const start = (isAlone = false) => {
  const clock = new FakeClock();
  const order: string[] = [];
  const thread = new MainThread({ clock, isAlone: () => isAlone });
  /** A piece of work that takes so long. */
  const work = async (user: string, ms: number) => {
    await thread.turn(user);
    order.push(user);
    clock.advance(ms);
  };
  return { clock, order, thread, work };
};
const loop = async (turns = 30) => {
  for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

it('users take turns, whatever one of them has waiting', async () => {
  const { order, work } = start();
  const all = [...Array.from({ length: 5 }, () => work('mallory', 1)), work('alice', 1), work('bob', 1)];
  await Promise.all(all);
  expect(order.slice(0, 3)).toEqual(['mallory', 'alice', 'bob']);
});

it('between two long pieces of work everything else comes to its turn', async () => {
  const { order, work } = start(true);
  const all = Promise.all([work('mallory', 10), work('mallory', 10)]);
  // It is there already when the second one could begin.
  setImmediate(() => order.push('other'));
  await all;
  expect(order).toEqual(['mallory', 'other', 'mallory']);
});

it('who has had more than their share waits while others send something', async () => {
  const { clock, order, work } = start();
  const done = Promise.all(Array.from({ length: 4 }, () => work('mallory', 40)));
  await loop();
  // Two of them: after the first there is something left of what may come at once.
  expect(order).toHaveLength(2);
  await work('alice', 1);
  expect(order.at(-1)).toBe('alice');
  for (let turn = 0; turn < 200 && order.length < 5; turn += 1) {
    clock.advance(5);
    await loop(2);
  }
  await done;
  // 160 ms of work at a tenth of the time, but for what may come at once.
  expect(clock.monotonic()).toBeGreaterThan(600);
});

it('who is alone waits for no one', async () => {
  const { order, work } = start(true);
  await Promise.all(Array.from({ length: 10 }, () => work('mallory', 40)));
  expect(order).toHaveLength(10);
});

it('what was received counts before it is looked at', async () => {
  const { clock, thread } = start();
  const megabytes = 100;
  void thread.turn('mallory', megabytes * 2 ** 20);
  await loop();
  let isHis = false;
  void thread.turn('mallory').then(() => {
    isHis = true;
  });
  const waited = async (ms: number) => {
    clock.advance(ms);
    await loop();
    return isHis;
  };
  expect(await waited(100)).toBe(false);
  expect(await waited(10_000)).toBe(true);
});
