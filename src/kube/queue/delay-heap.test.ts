import fc from 'fast-check';
import { expect, it } from 'vitest';
import { DelayHeap } from './delay-heap.ts';

it('gives keys in the order of their times, and none early', () => {
  const heap = new DelayHeap();
  heap.put('c', 30);
  heap.put('a', 10);
  heap.put('b', 20);
  expect([heap.takeDue(9), heap.takeDue(25), heap.takeDue(25), heap.takeDue(25)]).toEqual([
    undefined,
    'a',
    'b',
    undefined,
  ]);
  expect([heap.size, heap.nextDue]).toEqual([1, 30]);
});

it('agrees with a sorted map of the earliest time of each key', () => {
  const entry = fc.tuple(fc.constantFrom(...'abcdefghij'), fc.nat(50));
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 60 }), (entries) => {
      const heap = new DelayHeap();
      const model = new Map<string, number>();
      for (const [key, due] of entries) {
        heap.put(key, due);
        model.set(key, Math.min(due, model.get(key) ?? due));
      }
      const times: number[] = [];
      for (let due = heap.nextDue; due !== undefined; due = heap.nextDue) {
        const key = heap.takeDue(due) as string;
        expect(model.get(key)).toBe(due);
        model.delete(key);
        times.push(due);
      }
      expect(model.size).toBe(0);
      expect(times).toEqual(times.toSorted((a, b) => a - b));
    }),
  );
});

it('gives the others in the order of their times when keys were taken out of the middle', () => {
  const times = fc.uniqueArray(fc.nat(1_000), { minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(times, fc.array(fc.nat(60)), (dues, deleted) => {
      const heap = new DelayHeap();
      for (const [index, due] of dues.entries()) heap.put(`k${index}`, due);
      for (const index of deleted) heap.delete(`k${index}`);
      const left = dues.filter((_, index) => !deleted.includes(index)).toSorted((a, b) => a - b);
      const given = left.map(() => dues[Number(heap.takeDue(1_000)?.slice(1))]);
      expect([given, heap.size]).toEqual([left, 0]);
    }),
  );
});
