import { expect, it } from 'vitest';
import {
  confirmed,
  created,
  credentialObject,
  plainKeyOf,
} from '../../../test/builders/credential-object.ts';
import { lockRecord } from '../../../test/builders/lock.ts';
import { formatInstant } from '../../api/instant.ts';
import { credentialHash } from '../../credentials/keys/credential-hash.ts';
import { toLiveRecord } from '../../credentials/live-record.ts';
import { Locks } from '../../platform/locks.ts';
import { CredentialRecords } from './credential-records.ts';
import { TargetRecords } from './target-records.ts';
import { Verdicts } from './verdicts.ts';

function start() {
  const records = new CredentialRecords();
  const locks = new Locks();
  const dropped: string[] = [];
  let now = created + 1_000;
  const verdicts = new Verdicts({
    ...{ records, locks, targets: new TargetRecords('p-'), projectNamespacePrefix: 'p-' },
    ...{ now: () => now, activityInterval: 60_000 },
    onDropped: (hash) => void dropped.push(hash),
  });
  const put = (name: string, user: string) => {
    const object = confirmed(credentialObject({ name, spec: { user, key: plainKeyOf(name) } }));
    records.ofKind.OwnedAccessKey.upsert(toLiveRecord(object, 'OwnedAccessKey'));
    return credentialHash(plainKeyOf(name));
  };
  const isGood = (hash: string) => {
    const found = verdicts.find(hash);
    return found !== undefined && ('record' in found || found.reason);
  };
  const at = (ms: number) => {
    now = created + ms;
  };
  return { locks, verdicts, dropped, put, isGood, at };
}

const turn = async () => await new Promise((resolve) => setImmediate(resolve));

it('a lock counts for the very next request, before anything had its turn', () => {
  const { locks, put, isGood } = start();
  const [ada, bob] = [put('one', 'ada'), put('two', 'bob')];
  expect([isGood(ada), isGood(bob)]).toEqual([true, true]);
  locks.store.upsert(lockRecord({ user: 'ada' }));
  expect([isGood(ada), isGood(bob)]).toEqual(['Locked', true]);
});

it('a verdict that no lock stops stays the same object', () => {
  const { locks, verdicts, put } = start();
  const bob = put('two', 'bob');
  const before = verdicts.find(bob);
  locks.store.upsert(lockRecord({ user: 'ada' }));
  expect(verdicts.find(bob)).toBe(before);
});

it('without the lock the key works again at once', () => {
  const { locks, put, isGood } = start();
  const ada = put('one', 'ada');
  locks.store.upsert(lockRecord({ user: 'ada' }));
  expect(isGood(ada)).toBe('Locked');
  locks.store.remove('incident');
  expect(isGood(ada)).toBe(true);
});

it('at the end of the lock the key works again, and no sooner', () => {
  const { locks, put, isGood, at } = start();
  const ada = put('one', 'ada');
  locks.store.upsert(lockRecord({ user: 'ada', expirationTimestamp: formatInstant(created + 60_000) }));
  at(59_999);
  expect(isGood(ada)).toBe('Locked');
  at(60_000);
  expect(isGood(ada)).toBe(true);
});

it('the exchange for a locked key finds it locked, too', () => {
  const { locks, verdicts, put } = start();
  put('one', 'ada');
  locks.store.upsert(lockRecord({ accessKey: { name: 'one' } }));
  expect(verdicts.findKey('one')).toEqual({ reason: 'Locked' });
});

it('all that have something open hear of it, in turns that leave others theirs', async () => {
  const { locks, dropped, put, isGood } = start();
  const hashes = Array.from({ length: 1_200 }, (_, index) =>
    put(`k${index}`, index % 2 === 0 ? 'ada' : 'bob'),
  );
  for (const hash of hashes) expect(isGood(hash)).toBe(true);
  locks.store.upsert(lockRecord({ user: 'ada' }));
  expect(dropped).toEqual([]);
  await turn();
  expect(dropped.length).toBeGreaterThan(0);
  expect(dropped.length).toBeLessThan(600);
  for (let count = 0; count < 8; count += 1) await turn();
  expect(new Set(dropped)).toEqual(new Set(hashes.filter((_, index) => index % 2 === 0)));
});

it('a request that comes before the sweep does not hide from it what else is open', () => {
  const { locks, dropped, put, isGood } = start();
  const ada = put('one', 'ada');
  isGood(ada);
  locks.store.upsert(lockRecord({ user: 'ada' }));
  expect(isGood(ada)).toBe('Locked');
  expect(dropped).toEqual([ada]);
});

it('a lock that comes during a sweep is part of another one', async () => {
  const { locks, dropped, put, isGood } = start();
  const hashes = Array.from({ length: 1_200 }, (_, index) => put(`k${index}`, index === 0 ? 'ada' : 'bob'));
  for (const hash of hashes) isGood(hash);
  locks.store.upsert(lockRecord({ user: 'nobody' }, 'first'));
  await turn();
  locks.store.upsert(lockRecord({ user: 'ada' }, 'second'));
  for (let count = 0; count < 16; count += 1) await turn();
  expect(dropped).toEqual([hashes[0]]);
});

it('tells up to where locks have done their work, also while new ones come faster than all is compared with them', async () => {
  const { locks, verdicts, put, isGood } = start();
  const hashes = Array.from({ length: 1_200 }, (_, index) => put(`k${index}`, 'bob'));
  for (const hash of hashes) isGood(hash);
  locks.store.reach('10');
  expect(verdicts.locksPosition).toBe('10');
  const positions: number[] = [];
  for (let version = 11; version < 50; version += 1) {
    locks.store.upsert(lockRecord({ user: 'nobody' }, `lock-${version}`));
    locks.store.reach(String(version));
    positions.push(Number(verdicts.locksPosition));
    await turn();
  }
  // The first round takes five turns.
  expect(positions.slice(0, 4)).toEqual([10, 10, 10, 10]);
  expect(positions.at(-1)).toBeGreaterThan(35);
  expect(positions.at(-1)).toBeLessThan(49);
  expect(positions).toEqual(positions.toSorted((one, other) => one - other));
  for (let count = 0; count < 16; count += 1) await turn();
  expect(verdicts.locksPosition).toBe('49');
});
