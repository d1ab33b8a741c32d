import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Store, type StoredRecord } from './store.ts';

interface Item extends StoredRecord {
  readonly values: readonly string[];
}

const letters = fc.constantFrom('a', 'b', 'c');
const change = fc.record({
  key: letters,
  uid: letters,
  resourceVersion: letters,
  values: fc.array(letters, { maxLength: 3 }),
  remove: fc.boolean(),
});

it('agrees with a plain map, whatever comes in whatever order', () => {
  fc.assert(
    fc.property(fc.array(change), (changes) => {
      const store = new Store<Item>({ value: ({ values }) => values });
      const received = new Map<string, Item>();
      const model = new Map<string, Item>();
      store.subscribe(({ type, key, current }) => {
        if (type === 'deleted') received.delete(key);
        else received.set(key, current as Item);
      });
      for (const { remove, ...item } of changes) {
        const known = model.get(item.key);
        if (remove) {
          store.remove(item.key);
          model.delete(item.key);
        } else {
          store.upsert(item);
          const isSame = known?.uid === item.uid && known.resourceVersion === item.resourceVersion;
          if (!isSame) model.set(item.key, item);
        }
      }
      expect(new Map([...store.values()].map((item) => [item.key, item]))).toEqual(model);
      expect(received).toEqual(model);
      for (const value of ['a', 'b', 'c']) {
        const expected = [...model.values()].filter(({ values }) => values.includes(value));
        expect(new Set(store.byIndex('value', value))).toEqual(new Set(expected));
        expect(store.countByIndex('value', value)).toBe(expected.length);
      }
    }),
  );
});
