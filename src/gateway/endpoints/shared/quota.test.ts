import { expect, it } from 'vitest';
import { created, liveRecord } from '../../../../test/builders/credential-object.ts';
import type { CredentialKind } from '../../../api/credential-kinds.ts';
import { annotations } from '../../../api/names.ts';
import { CredentialRecords } from '../../index/credential-records.ts';
import { Quota, type QuotaPlace } from './quota.ts';
import { Refusal } from './reply.ts';

function start() {
  const records = new CredentialRecords();
  const limits = { OwnedAccessKey: 2, DirectClusterEndpointToken: 1 };
  const clock = { now: created };
  const put = (record: ReturnType<typeof liveRecord>) => records.ofKind[record.kind].upsert(record);
  return { put, clock, quota: new Quota({ records, limits, now: () => clock.now }) };
}

/** Alice makes something, and has made it once `leave` is called. */
async function enter(quota: Quota, kind: CredentialKind = 'OwnedAccessKey') {
  const entered = Promise.withResolvers<QuotaPlace>();
  const made = Promise.withResolvers<void>();
  const making = quota.during(kind, 'alice', (given) => {
    entered.resolve(given);
    return made.promise;
  });
  making.catch(entered.reject);
  const place = await entered.promise;
  const leave = async () => {
    made.resolve();
    await making;
  };
  return { place, leave };
}

async function refusalOf(quota: Quota, kind: CredentialKind = 'OwnedAccessKey') {
  const refused = quota.during(kind, 'alice', async () => expect.unreachable());
  const error = await refused.catch((reason: unknown) => reason);
  if (error instanceof Refusal) return error.answer;
  throw error;
}

it('passes on what was made, and gives the place back also where nothing was', async () => {
  const { quota } = start();
  const kind = 'DirectClusterEndpointToken';
  const lost = new Error('no answer');
  await expect(quota.during(kind, 'alice', () => Promise.reject(lost))).rejects.toBe(lost);
  expect(await quota.during(kind, 'alice', async () => 'made')).toBe('made');
  await enter(quota, kind);
  await refusalOf(quota, kind);
});

it('counts what a user made, and what is under way', async () => {
  const { put, quota } = start();
  put(liveRecord({ name: 'made-by-bob', annotations: { [annotations.requester]: 'bob' } }));
  put(liveRecord({ name: 'a' }));
  const { leave } = await enter(quota);
  const refusal = await refusalOf(quota);
  expect(refusal).toMatchObject({ code: 'ERR_QUOTA', status: 429 });
  expect(refusal.headers).toContain('retry-after');
  expect(refusal.body).toContain('has 2 ownedaccesskeys already');
  await leave();
  await enter(quota);
});

it('counts once what is in the index while its request waits for the operator', async () => {
  const { put, quota } = start();
  const { place } = await enter(quota);
  const record = liveRecord({ name: 'a' });
  put(record);
  await refusalOf(quota);
  place.uid = record.uid;
  const { place: second } = await enter(quota);
  second.uid = 'not in the index yet';
  expect((await refusalOf(quota)).body).toContain('has 2 ownedaccesskeys already');
});

it('counts what may come of the request of a client that left, until it has been taken away', async () => {
  const { put, quota } = start();
  put(liveRecord({ name: 'a' }));
  const { place, leave } = await enter(quota);
  const removal = Promise.withResolvers<void>();
  place.settled = removal.promise;
  await leave();
  await refusalOf(quota);
  removal.resolve();
  await removal.promise;
  await enter(quota);
});

it('counts what is being deleted: a finalizer of its maker keeps it there', async () => {
  const { put, quota } = start();
  const metadata = { deletionTimestamp: '2026-11-21T10:00:00Z', finalizers: ['example.com/hold'] };
  for (const name of ['a', 'b']) put(liveRecord({ name, metadata }));
  await refusalOf(quota);
});

it('counts tokens that have ended once there are twenty times as many as may live: declared ones stay', async () => {
  const { put, clock, quota } = start();
  const token = { kind: 'DirectClusterEndpointToken', spec: { ttl: 600 } } as const;
  clock.now += 600_000;
  for (let index = 0; index < 19; index++) put(liveRecord({ ...token, name: `t${index}` }));
  await (await enter(quota, token.kind)).leave();
  put(liveRecord({ ...token, name: 't19' }));
  await refusalOf(quota, token.kind);
});

it('counts no token that has ended, and no kubeconfig at all', async () => {
  const { put, clock, quota } = start();
  put(liveRecord({ kind: 'DirectClusterEndpointToken', spec: { ttl: 600 } }));
  await refusalOf(quota, 'DirectClusterEndpointToken');
  clock.now += 600_000;
  await enter(quota, 'DirectClusterEndpointToken');
  for (let count = 0; count < 10; count++) await enter(quota, 'VirtualClusterInstanceKubeConfig');
});
