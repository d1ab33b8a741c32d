import { expect, it } from 'vitest';
import { ConcurrencyLimit } from './concurrency-limit.ts';

it('refuses one more than all, and one more of a key', () => {
  const limit = new ConcurrencyLimit({ all: 3, ofEach: 2 });
  const leave = limit.enter('a');
  expect([limit.enter('a'), limit.enter('a'), limit.enter('b'), limit.enter('c')]).toEqual([
    ...[expect.any(Function), undefined, expect.any(Function), undefined],
  ]);
  leave?.();
  expect(limit.enter('c')).toBeDefined();
});

it('asks the oldest of the key with the most to make room for one that has fewer', () => {
  const limit = new ConcurrencyLimit({ all: 4, ofEach: 4 });
  const ended: string[] = [];
  const enter = (key: string, name: string) => limit.enter(key, () => void ended.push(name));
  const oldest = enter('a', 'first of a');
  for (const name of ['second of a', 'third of a']) enter('a', name);
  enter('b', 'first of b');
  expect(enter('c', 'first of c')).toBeDefined();
  expect(ended).toEqual(['first of a']);
  // All have two at most now, so no one has to make room for a second one.
  expect(enter('c', 'second of c')).toBeUndefined();
  oldest?.();
  expect(enter('c', 'second of c')).toBeUndefined();
  expect(ended).toEqual(['first of a']);
});

it('takes no place from what cannot make room', () => {
  const limit = new ConcurrencyLimit({ all: 2, ofEach: 2 });
  for (let count = 0; count < 2; count += 1) limit.enter('a');
  expect(limit.enter('b', () => undefined)).toBeUndefined();
});
