import { expect, it } from 'vitest';
import { Arrivals } from './arrivals.ts';

const object = { metadata: { namespace: 'p-a', name: 'shop', uid: 'u' } } as never;

function start() {
  const arrivals = new Arrivals();
  const brought: string[] = [];
  const wait = (who: string, key = 'p-a/shop') => arrivals.on(key, () => brought.push(who));
  return { arrivals, brought, wait };
}

it('brings an object to all who wait for its name, and to no one else', () => {
  const { arrivals, brought, wait } = start();
  for (const who of ['one', 'two']) wait(who);
  wait('three', 'p-b/shop');
  arrivals.saw(object);
  expect(brought).toEqual(['one', 'two']);
});

it('brings nothing to who has stopped, in whatever order they do', () => {
  const { arrivals, brought, wait } = start();
  const [first, second] = [wait('one'), wait('two')];
  first();
  const third = wait('three');
  second();
  first();
  arrivals.saw(object);
  expect(brought).toEqual(['three']);
  third();
  wait('four');
  third();
  arrivals.saw(object);
  expect(brought).toEqual(['three', 'four']);
});
