import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { MutationCache } from './mutation-cache.ts';
import { Store, type StoredRecord } from './store.ts';

const record = (resourceVersion: string, uid = 'u1'): StoredRecord => ({ key: 'a', uid, resourceVersion });

function setUp() {
  const clock = new FakeClock();
  const store = new Store<StoredRecord>();
  return { clock, store, records: new MutationCache(store, clock) };
}

describe('MutationCache', () => {
  it('shows a write before the watch brings it', () => {
    const { store, records } = setUp();
    store.upsert(record('9'));
    records.put(record('10'));
    expect(records.get('a')).toEqual(record('10'));
  });

  it('does not let an older event hide the write', () => {
    const { store, records } = setUp();
    records.put(record('10'));
    store.upsert(record('9'));
    expect(records.get('a')).toEqual(record('10'));
  });

  it.each(['10', '11'])('follows the store from version %s on', (version) => {
    const { store, records } = setUp();
    records.put(record('10'));
    store.upsert(record(version));
    store.upsert(record('12'));
    expect(records.get('a')).toEqual(record('12'));
  });

  it('lets the store tell what the watch brings back of a write from what others changed', () => {
    const { store, records } = setUp();
    const origins: string[] = [];
    store.subscribe(({ type, origin }) => void origins.push(`${type} ${origin}`));
    store.upsert(record('9'));
    records.put(record('10'));
    store.upsert(record('10'));
    store.upsert(record('11'));
    store.remove('a');
    expect(origins).toEqual(['added watch', 'updated write', 'updated watch', 'deleted watch']);
  });

  it('ignores a write that the store knows already', () => {
    const { store, records } = setUp();
    store.upsert(record('11'));
    records.put(record('10'));
    expect(records.get('a')).toEqual(record('11'));
  });

  it('shows nothing that the API server says is gone, before the watch tells it, and a successor at once', () => {
    const { clock, store, records } = setUp();
    store.upsert(record('9'));
    records.put(record('10'));
    records.putTombstone(record('10'));
    expect([records.get('a'), records.pending(), records.isGone(record('10'))]).toEqual([
      undefined,
      [],
      true,
    ]);
    records.put(record('11', 'u2'));
    expect(records.get('a')).toEqual(record('11', 'u2'));
    clock.advance(30_000);
    expect(records.isGone(record('10'))).toBe(false);
  });

  it('shows again what is there although it was said to be gone, when the watch has had half a minute to tell it', () => {
    const { clock, store, records } = setUp();
    store.upsert(record('9'));
    records.putTombstone(record('9'));
    clock.advance(30_000);
    expect(records.get('a')).toEqual(record('9'));
  });

  it('forgets the write when the very object is deleted, and keeps it when an earlier one is', () => {
    const { store, records } = setUp();
    store.upsert(record('5', 'earlier'));
    records.put(record('10'));
    store.remove('a', 'earlier');
    expect(records.get('a')).toEqual(record('10'));
    store.upsert(record('9'));
    store.remove('a', 'u1');
    expect(records.get('a')).toBeUndefined();
  });

  it('does not bring an object back when the answer comes after the news that it went', () => {
    const { clock, store, records } = setUp();
    store.upsert(record('9'));
    store.remove('a', 'u1');
    clock.advance(29_999);
    records.put(record('10'));
    expect(records.get('a')).toBeUndefined();
    records.put(record('12', 'later'));
    expect(records.get('a')).toEqual(record('12', 'later'));
  });

  it.each([
    ['the watch is past it', (store: Store<StoredRecord>) => store.reach('11')],
    ['a list that began later is complete', completeList],
  ])('believes the store again once %s, and not before half a minute', (_, catchUp) => {
    const { clock, store, records } = setUp();
    store.reach('9');
    records.put(record('10'));
    catchUp(store);
    clock.advance(29_999);
    expect(records.get('a')).toBeDefined();
    clock.advance(1);
    expect([records.get('a'), records.pending()]).toEqual([undefined, []]);
  });

  it('counts a write for as long as the watch says nothing, and still knows it then', () => {
    const { clock, store, records } = setUp();
    const origins: string[] = [];
    store.subscribe(({ origin }) => void origins.push(origin));
    store.beginList();
    store.reach('9');
    records.put(record('10'));
    store.completeList('9');
    clock.advance(600_000);
    expect([records.get('a'), records.pending()]).toEqual([record('10'), [record('10')]]);
    store.upsert(record('10'));
    expect(origins).toEqual(['write']);
  });

  it('shows what only left the selection of the watch as soon as it is back, by a write or by the watch', () => {
    const { store, records } = setUp();
    store.upsert(record('9'));
    store.remove('a', 'u1', '11');
    records.put(record('10'));
    expect(records.get('a')).toBeUndefined();
    records.put(record('12'));
    expect(records.get('a')).toEqual(record('12'));
    store.upsert(record('13'));
    expect(records.get('a')).toEqual(record('13'));
  });

  it('keeps a write that is later than the news that its object left the selection', () => {
    const { store, records } = setUp();
    store.upsert(record('9'));
    records.put(record('12'));
    store.remove('a', 'u1', '11');
    expect(records.get('a')).toEqual(record('12'));
  });
});

/** A restored etcd may count from a lower version. */
function completeList(store: Store<StoredRecord>): void {
  store.beginList();
  store.completeList('3');
}
