import { expect, it } from 'vitest';
import { HeldBytes, type Holding } from './held-bytes.ts';

// A text counts four times.
const start = () => new HeldBytes({ ofCredential: 40, ofUser: 60, ofAll: 80 });
const alice = { user: 'alice', credential: 'one' };
const [other, bob] = [
  { user: 'alice', credential: 'other' },
  { user: 'bob', credential: 'third' },
];
const room = undefined;
const noRoom = (owner: string) =>
  expect.objectContaining({
    status: 429,
    body: expect.stringContaining(`too many requests of ${owner} are under way`),
  });
const taken = (...takes: readonly (readonly [Holding, number])[]) =>
  takes.map(([holding, bytes]) => holding.take(bytes));

it('gives one credential no more than its share, whatever the number of requests', () => {
  const held = start();
  const [first, second] = [held.hold(alice), held.hold(alice)];
  expect(taken([first, 8], [second, 3], [second, 2], [second, 1])).toEqual([
    room,
    noRoom('this credential'),
    room,
    noRoom('this credential'),
  ]);
});

it('leaves the other credentials of a user the rest of the share of that user', () => {
  const held = start();
  expect(taken([held.hold(alice), 10], [held.hold(other), 6], [held.hold(other), 5])).toEqual([
    room,
    noRoom('this user'),
    room,
  ]);
});

it('does not say that it is the user where others take all there is', () => {
  const held = start();
  expect(taken([held.hold(alice), 10], [held.hold(other), 5], [held.hold(bob), 6])).toEqual([
    room,
    room,
    noRoom('all users together'),
  ]);
  expect(held.hold(bob).take(5)).toBe(room);
});

it('has room again for what was given back, or whose request is over', () => {
  const held = start();
  const [first, second] = [held.hold(alice), held.hold(alice)];
  first.takeOrThrow(10);
  first.giveBack(4);
  expect(first.size).toBe(6);
  second.takeOrThrow(4);
  expect(() => second.takeOrThrow(1)).toThrow('ERR_TOO_MANY_REQUESTS');
  first.release();
  first.release();
  expect(first.size).toBe(0);
  second.takeOrThrow(6);
  expect(() => second.takeOrThrow(1)).toThrow('ERR_TOO_MANY_REQUESTS');
});

it('counts nothing for a request that is over', () => {
  const held = start();
  const over = held.hold(alice);
  over.release();
  expect(over.take(100)).toBe(room);
  expect([over.size, held.hold(alice).take(10)]).toEqual([0, room]);
});
