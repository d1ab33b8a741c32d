import { expect, it } from 'vitest';
import { forEachConcurrently } from './for-each-concurrently.ts';

const soon = () => new Promise((resolve) => setImmediate(resolve));

it('works on every item in order, and on no more at a time than it may', async () => {
  const begun: number[] = [];
  let busy = 0;
  let most = 0;
  await forEachConcurrently([1, 2, 3, 4, 5, 6, 7], 3, async (item) => {
    begun.push(item);
    most = Math.max(most, ++busy);
    await soon();
    busy--;
  });
  expect([begun, most, busy]).toEqual([[1, 2, 3, 4, 5, 6, 7], 3, 0]);
});

it('ends at once when there is nothing', async () => {
  await expect(forEachConcurrently([], 4, soon)).resolves.toBeUndefined();
});

it('begins nothing more after the first failure, and rejects with it', async () => {
  const begun: number[] = [];
  const working = forEachConcurrently([1, 2, 3, 4, 5], 2, async (item) => {
    begun.push(item);
    await soon();
    if (item === 1) throw new Error('refused');
  });
  await expect(working).rejects.toThrow('refused');
  await soon();
  expect(begun).toEqual([1, 2]);
});
