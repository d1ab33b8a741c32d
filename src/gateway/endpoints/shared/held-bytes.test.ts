import { expect, it } from 'vitest';
import { HeldBytes } from './held-bytes.ts';

// A text counts four times.
const start = () => new HeldBytes({ ofUser: 40, ofAll: 60 });

it('gives one user no more than their share, whatever the number of requests', () => {
  const held = start();
  const [first, second, other] = ['alice', 'alice', 'bob'].map((user) => held.hold(user));
  expect([first?.take(8), second?.take(3), second?.take(2), other?.take(5)]).toEqual([
    true,
    false,
    true,
    true,
  ]);
  expect(other?.take(1)).toBe(false);
});

it('has room again for what was given back, or whose request is over', () => {
  const held = start();
  const [first, second] = [held.hold('alice'), held.hold('alice')];
  expect(first.take(10)).toBe(true);
  first.giveBack(4);
  expect([first.size, second.take(4), second.take(1)]).toEqual([6, true, false]);
  first.release();
  first.release();
  expect([first.size, second.take(6), second.take(1)]).toEqual([0, true, false]);
});

it('counts nothing for a request that is over', () => {
  const held = start();
  const over = held.hold('alice');
  over.release();
  expect(over.take(100)).toBe(true);
  expect([over.size, held.hold('alice').take(10)]).toEqual([0, true]);
});
