import { expect, it } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { YAMLTurns } from './yaml-turns.ts';

/** Each text says how many milliseconds it takes. */
function start({ isAlone = false, ofUser = 100, maxWaitMs = 60_000 } = {}) {
  const clock = new FakeClock();
  const order: string[] = [];
  const read = async (text: string) => {
    const ms = Number(text);
    clock.advance(ms);
    return { reading: { json: text }, ms };
  };
  const limits = { ofUser, ofAll: 100, maxMs: 1_000, maxHeapBytes: 1 };
  const turns = new YAMLTurns({ clock, thread: { read }, limits, maxWaitMs, isAlone: () => isAlone });
  const send = (user: string, ms: number) => {
    void turns
      .read(user, String(ms))
      .then((reading) => order.push(reading === undefined ? `${user} not` : user));
  };
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 10) {
      clock.advance(10);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { clock, order, send, pass };
}

it('who has had more than a share of the thread waits, and no one else does', async () => {
  const { order, send, pass } = start();
  for (let count = 0; count < 3; count += 1) send('mallory', 250);
  await pass(500);
  expect(order).toEqual(['mallory']);
  send('alice', 1);
  await pass(10);
  expect(order).toEqual(['mallory', 'alice']);
  await pass(5_000);
  expect(order).toEqual(['mallory', 'alice', 'mallory', 'mallory']);
});

it('who is alone waits for no one', async () => {
  const { order, send, pass } = start({ isAlone: true });
  for (let count = 0; count < 3; count += 1) send('mallory', 250);
  await pass(10);
  expect(order).toEqual(['mallory', 'mallory', 'mallory']);
});

it('a text that waits too long is given up', async () => {
  const { order, send, pass } = start({ maxWaitMs: 300 });
  for (let count = 0; count < 3; count += 1) send('mallory', 250);
  await pass(310);
  expect(order).toEqual(['mallory', 'mallory not', 'mallory not']);
  await pass(1_500);
  send('mallory', 1);
  await pass(10);
  expect(order.at(-1)).toBe('mallory');
});

it('no more of one user may wait than the limit says', async () => {
  const { order, send, pass } = start({ ofUser: 2 });
  for (let count = 0; count < 3; count += 1) send('mallory', 1);
  send('alice', 1);
  await pass(10);
  expect(order).toEqual(['mallory not', 'mallory', 'mallory', 'alice']);
});

it('of a text that takes very long no more counts than keeps the next one from being given up', async () => {
  const { order, send, pass } = start({ maxWaitMs: 30_000 });
  for (let count = 0; count < 4; count += 1) send('mallory', 5_000);
  await pass(20_000);
  expect(order).toEqual(['mallory', 'mallory', 'mallory', 'mallory']);
});
