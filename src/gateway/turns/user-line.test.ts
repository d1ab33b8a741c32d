import { expect, it } from 'vitest';
import { UserLine } from './user-line.ts';

const lineOf = (...waiting: readonly string[]) => {
  const line = new UserLine<string>();
  for (const item of waiting) line.add(item.slice(0, 1), item);
  return line;
};
const drain = (line: UserLine<string>, mayGo?: (user: string) => boolean) => {
  const taken: string[] = [];
  for (let next = line.next(mayGo); next !== undefined; next = line.next(mayGo)) taken.push(next.item);
  return taken;
};

it.each([
  ['one after the other', ['a1', 'a2'], ['a1', 'a2']],
  ['in turns of users', ['a1', 'a2', 'a3', 'b1', 'c1', 'b2'], ['a1', 'b1', 'c1', 'a2', 'b2', 'a3']],
])('what waits comes %s', (_, waiting, order) => {
  const line = lineOf(...waiting);
  expect(line.size).toBe(waiting.length);
  expect(drain(line)).toEqual(order);
  expect(line.size).toBe(0);
});

it('a user who may not go on keeps the place of what waits', () => {
  const line = lineOf('a1', 'a2', 'b1');
  expect(drain(line, (user) => user !== 'a')).toEqual(['b1']);
  expect(drain(line)).toEqual(['a1', 'a2']);
});
