import { beforeEach, describe, expect, it } from 'vitest';
import { Store, type StoreChange, type StoredRecord } from './store.ts';

interface Pod extends StoredRecord {
  readonly labels: readonly string[];
}

const pod = (key: string, uid: string, version: string, labels: readonly string[] = []): Pod => ({
  key,
  uid,
  resourceVersion: version,
  labels,
});

let store: Store<Pod>;
let changes: StoreChange<Pod>[];

beforeEach(() => {
  store = new Store<Pod>({ label: (record) => record.labels });
  changes = [];
  store.subscribe((change) => changes.push(change));
});

const seen = () => changes.map(({ type, key }) => `${type} ${key}`);

describe('a listener', () => {
  it('is called for an object that is new, changed and gone', () => {
    store.upsert(pod('a', '1', '10'));
    store.upsert(pod('a', '1', '11'));
    store.remove('a');
    expect(seen()).toEqual(['added a', 'updated a', 'deleted a']);
  });

  it('gets a re-created object as deleted, then added', () => {
    const [old, young] = [pod('a', '1', '10'), pod('a', '2', '11')];
    store.upsert(old);
    store.upsert(young);
    expect(changes.slice(1)).toEqual([
      { type: 'deleted', origin: 'watch', key: 'a', previous: old },
      { type: 'added', origin: 'watch', key: 'a', current: young },
    ]);
  });

  it('is not called for an object that comes again unchanged', () => {
    store.upsert(pod('a', '1', '10'));
    store.upsert(pod('a', '1', '10'));
    expect(seen()).toEqual(['added a']);
  });

  it('is not called for the deletion of an object that was not there', () => {
    store.remove('a');
    expect(seen()).toEqual([]);
  });

  it('is not called after unsubscribing', () => {
    const received: string[] = [];
    const stop = store.subscribe(({ key }) => received.push(key));
    stop();
    store.upsert(pod('a', '1', '10'));
    expect(received).toEqual([]);
  });

  it('finds the change already made when it looks', () => {
    let found: Pod | undefined;
    store.subscribe(() => (found = store.byIndex('label', 'x')[0]));
    store.upsert(pod('a', '1', '10', ['x']));
    expect(found?.key).toBe('a');
  });

  it('is called although a listener before it threw', () => {
    const other = new Store<Pod>();
    const received: string[] = [];
    other.subscribe(() => {
      throw new Error('listener');
    });
    other.subscribe(({ key }) => received.push(key));
    expect(() => other.upsert(pod('a', '1', '10'))).toThrow('a store listener failed');
    expect([received, other.size]).toEqual([['a'], 1]);
  });
});

describe('removal', () => {
  it('keeps a successor when the deletion of its predecessor arrives late', () => {
    store.upsert(pod('a', '2', '11'));
    store.remove('a', '1');
    expect(store.get('a')?.uid).toBe('2');
  });
});

describe('indexes', () => {
  const found = (value: string) => store.byIndex('label', value).map(({ key }) => key);

  it('finds every record under each of its values', () => {
    store.upsert(pod('a', '1', '10', ['x', 'y']));
    store.upsert(pod('b', '2', '11', ['x']));
    expect([found('x'), found('y'), found('z')]).toEqual([['a', 'b'], ['a'], []]);
  });

  it('follows a record whose values change', () => {
    store.upsert(pod('a', '1', '10', ['x', 'y']));
    store.upsert(pod('a', '1', '11', ['y', 'z']));
    expect([found('x'), found('y'), found('z')]).toEqual([[], ['a'], ['a']]);
    expect(store.byIndex('label', 'y')[0]?.resourceVersion).toBe('11');
  });

  it('finds the ones that stay when one of several goes', () => {
    for (const key of ['a', 'b', 'c']) store.upsert(pod(key, key, '10', ['x']));
    store.remove('b');
    expect(found('x')).toEqual(['a', 'c']);
    store.remove('a');
    expect(found('x')).toEqual(['c']);
    store.remove('c');
    expect(found('x')).toEqual([]);
  });

  it('finds a record once when it names a value twice', () => {
    store.upsert(pod('a', '1', '10', ['x', 'x']));
    expect(found('x')).toEqual(['a']);
    store.remove('a');
    expect(found('x')).toEqual([]);
  });

  it('answers with a list that later changes do not touch', () => {
    store.upsert(pod('a', '1', '10', ['x']));
    store.upsert(pod('b', '2', '11', ['x']));
    const before = store.byIndex('label', 'x');
    store.remove('a');
    expect(before.map(({ key }) => key)).toEqual(['a', 'b']);
  });

  it('says which index is missing', () => {
    expect(() => store.byIndex('owner', 'x')).toThrow('the store has no index "owner"');
  });
});
