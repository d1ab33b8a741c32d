import { expect, it } from 'vitest';
import {
  type CredentialParts,
  created,
  liveRecord,
  plainKeyOf,
} from '../../../test/builders/credential-object.ts';
import { lockRecord } from '../../../test/builders/lock.ts';
import { formatInstant } from '../../api/instant.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import { systemClock } from '../../kube/clock.ts';
import { CredentialStores } from '../credentials/credential-stores.ts';
import { lockedBy } from '../credentials/lineage.ts';
import { LockStore } from './lock-store.ts';
import { LockSweep } from './lock-sweep.ts';

const ready = { type: 'Ready', status: 'True', reason: 'Issued', message: 'works' };
const lockedAs = (name: string) => ({
  ...{ type: 'Ready', status: 'False', reason: 'Locked' },
  message: lockedBy(lockRecord({}, name)).message,
});

function start() {
  const stores = new CredentialStores(systemClock);
  const locks = new LockStore(systemClock);
  const enqueued: string[] = [];
  let counted = 0;
  let now = created;
  const sweep = new LockSweep({
    ...{ locks, stores, now: () => now },
    enqueue: ({ name }) => void enqueued.push(name),
    onCounted: () => {
      counted += 1;
    },
  });
  const put = (name: string, user: string, condition: object = ready, parts: CredentialParts = {}) =>
    stores.keys.upsert(
      liveRecord({
        name,
        spec: { user, key: plainKeyOf(name), ...parts.spec },
        status: { conditions: [condition], ...parts.status },
      }) as CredentialRecord,
    );
  const run = async () => {
    const before = counted;
    sweep.request();
    while (counted === before) await new Promise((resolve) => setImmediate(resolve));
  };
  const at = (ms: number) => {
    now = created + ms;
  };
  return { locks, sweep, enqueued, put, run, at };
}

it('what a lock stops is looked at again, unless its status says so', async () => {
  const { locks, enqueued, put, run } = start();
  put('works', 'ada');
  put('says', 'ada', lockedAs('incident'));
  put('names-another', 'ada', lockedAs('other'));
  put('expired', 'ada', { ...ready, status: 'False', reason: 'Expired' });
  put('freed', 'bob', lockedAs('incident'));
  put('other', 'bob');
  locks.store.upsert(lockRecord({ user: 'ada' }));
  await run();
  expect(enqueued.sort()).toEqual(['freed', 'names-another', 'works']);
});

it('each lock counts what would work without locks', async () => {
  const { locks, sweep, put, run, at } = start();
  put('one', 'ada');
  put('two', 'ada');
  put('disabled', 'ada', ready, { spec: { disabled: true } });
  put('ended', 'ada', ready, { spec: { ttl: 1 } });
  put('other', 'bob');
  locks.store.upsert(lockRecord({ user: 'ada' }, 'of-ada'));
  locks.store.upsert(lockRecord({ issuedBefore: formatInstant(created + 1_000) }, 'of-all'));
  locks.store.upsert(lockRecord({ user: 'nobody' }, 'of-nobody'));
  expect(sweep.countOf('uid-of-of-ada')).toBeUndefined();
  at(2_000);
  await run();
  expect(['of-ada', 'of-all', 'of-nobody'].map((name) => sweep.countOf(`uid-of-${name}`))).toEqual([2, 3, 0]);
});

it('the end of a lock frees what it stopped', async () => {
  const { locks, enqueued, put, run, at } = start();
  put('one', 'ada', lockedAs('incident'));
  locks.store.upsert(lockRecord({ user: 'ada', expirationTimestamp: formatInstant(created + 1_000) }));
  await run();
  expect(enqueued).toEqual([]);
  at(1_000);
  await run();
  expect(enqueued).toEqual(['one']);
});

it('a thousand credentials do not keep others from their turn', async () => {
  const { locks, sweep, put } = start();
  for (let index = 0; index < 1_200; index += 1) put(`k${index}`, 'ada');
  locks.store.upsert(lockRecord({ user: 'ada' }));
  sweep.request();
  let turns = 0;
  while (sweep.countOf('uid-of-incident') === undefined) {
    turns += 1;
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(turns).toBeGreaterThanOrEqual(3);
  expect(sweep.countOf('uid-of-incident')).toBe(1_200);
});
