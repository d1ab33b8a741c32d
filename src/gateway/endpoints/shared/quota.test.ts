import { expect, it } from 'vitest';
import { created, liveRecord } from '../../../../test/builders/credential-object.ts';
import type { CredentialKind } from '../../../api/credential-kinds.ts';
import { annotations } from '../../../api/names.ts';
import { CredentialRecords } from '../../index/credential-records.ts';
import { Quota } from './quota.ts';
import { Refusal } from './reply.ts';

function start() {
  const records = new CredentialRecords();
  const limits = { OwnedAccessKey: 2, DirectClusterEndpointToken: 1 };
  const clock = { now: created };
  const put = (record: ReturnType<typeof liveRecord>) => records.ofKind[record.kind].upsert(record);
  return { put, clock, quota: new Quota({ records, limits, now: () => clock.now }) };
}

/** Alice makes something. */
const enter = (quota: Quota, kind: CredentialKind = 'OwnedAccessKey') => quota.acquire(kind, 'alice');

function refusalOf(quota: Quota, kind: CredentialKind = 'OwnedAccessKey') {
  try {
    enter(quota, kind);
  } catch (error) {
    if (error instanceof Refusal) return error.answer;
    throw error;
  }
  return expect.unreachable();
}

it('gives room back when what was to be made is there, or was not made', () => {
  const { quota } = start();
  const kind = 'DirectClusterEndpointToken';
  enter(quota, kind).release();
  enter(quota, kind);
  refusalOf(quota, kind);
});

it('counts what a user made, and what is under way', () => {
  const { put, quota } = start();
  put(liveRecord({ name: 'made-by-bob', annotations: { [annotations.requester]: 'bob' } }));
  put(liveRecord({ name: 'a' }));
  const permit = enter(quota);
  const refusal = refusalOf(quota);
  expect(refusal).toMatchObject({ code: 'ERR_QUOTA', status: 429 });
  expect(refusal.headers).toContain('retry-after');
  expect(refusal.body).toContain('has 2 ownedaccesskeys already');
  permit.release();
  enter(quota);
});

it('counts once what is in the index while its request waits for the operator', () => {
  const { put, quota } = start();
  const permit = enter(quota);
  const record = liveRecord({ name: 'a' });
  put(record);
  refusalOf(quota);
  permit.made(record.uid);
  const second = enter(quota);
  second.made('not in the index yet');
  expect(refusalOf(quota).body).toContain('has 2 ownedaccesskeys already');
});

it('counts what may come of the request of a client that left, until it has been taken away', async () => {
  const { put, quota } = start();
  put(liveRecord({ name: 'a' }));
  const permit = enter(quota);
  const removal = Promise.withResolvers<void>();
  permit.keepUntil(removal.promise);
  permit.release();
  refusalOf(quota);
  removal.resolve();
  await removal.promise;
  enter(quota);
});

it('counts what is being deleted: a finalizer of its maker keeps it there', () => {
  const { put, quota } = start();
  const metadata = { deletionTimestamp: '2026-11-21T10:00:00Z', finalizers: ['example.com/hold'] };
  for (const name of ['a', 'b']) put(liveRecord({ name, metadata }));
  refusalOf(quota);
});

it('counts tokens that have ended once there are twenty times as many as may live: declared ones stay', () => {
  const { put, clock, quota } = start();
  const token = { kind: 'DirectClusterEndpointToken', spec: { ttl: 600 } } as const;
  clock.now += 600_000;
  for (let index = 0; index < 19; index++) put(liveRecord({ ...token, name: `t${index}` }));
  enter(quota, token.kind).release();
  put(liveRecord({ ...token, name: 't19' }));
  refusalOf(quota, token.kind);
});

it('counts no token that has ended, and no kubeconfig at all', () => {
  const { put, clock, quota } = start();
  put(liveRecord({ kind: 'DirectClusterEndpointToken', spec: { ttl: 600 } }));
  refusalOf(quota, 'DirectClusterEndpointToken');
  clock.now += 600_000;
  enter(quota, 'DirectClusterEndpointToken');
  for (let count = 0; count < 10; count++) enter(quota, 'VirtualClusterInstanceKubeConfig');
});
