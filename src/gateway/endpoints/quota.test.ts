import { expect, it } from 'vitest';
import { created, liveRecord } from '../../../test/builders/credential-object.ts';
import { annotations } from '../../api/names.ts';
import { CredentialRecords } from '../index/credential-records.ts';
import { Quota } from './quota.ts';

function start() {
  const records = new CredentialRecords();
  const limits = { OwnedAccessKey: 2, DirectClusterEndpointToken: 1 };
  const clock = { now: created };
  const put = (record: ReturnType<typeof liveRecord>) => records.ofKind[record.kind].upsert(record);
  return { put, clock, quota: new Quota({ records, limits, now: () => clock.now }) };
}

it('counts what a user made, and what is under way', () => {
  const { put, quota } = start();
  put(liveRecord({ name: 'made-by-bob', annotations: { [annotations.requester]: 'bob' } }));
  put(liveRecord({ name: 'a' }));
  expect(quota.enter('OwnedAccessKey', 'alice')).toBeUndefined();
  const refusal = quota.enter('OwnedAccessKey', 'alice');
  expect(refusal).toMatchObject({ code: 'ERR_QUOTA', status: 429 });
  expect(refusal?.headers).toContain('retry-after');
  expect(refusal?.body).toContain('has 2 ownedaccesskeys already');
  quota.leave('OwnedAccessKey', 'alice');
  expect(quota.enter('OwnedAccessKey', 'alice')).toBeUndefined();
});

it('counts what is being deleted: a finalizer of its maker keeps it there', () => {
  const { put, quota } = start();
  const metadata = { deletionTimestamp: '2026-11-21T10:00:00Z', finalizers: ['example.com/hold'] };
  for (const name of ['a', 'b']) put(liveRecord({ name, metadata }));
  expect(quota.enter('OwnedAccessKey', 'alice')).toMatchObject({ code: 'ERR_QUOTA' });
});

it('counts tokens that have ended once there are twenty times as many as may live: declared ones stay', () => {
  const { put, clock, quota } = start();
  const token = { kind: 'DirectClusterEndpointToken', spec: { ttl: 600 } } as const;
  clock.now += 600_000;
  for (let index = 0; index < 19; index++) put(liveRecord({ ...token, name: `t${index}` }));
  expect(quota.enter(token.kind, 'alice')).toBeUndefined();
  quota.leave(token.kind, 'alice');
  put(liveRecord({ ...token, name: 't19' }));
  expect(quota.enter(token.kind, 'alice')).toMatchObject({ code: 'ERR_QUOTA' });
});

it('counts no token that has ended, and no kubeconfig at all', () => {
  const { put, clock, quota } = start();
  put(liveRecord({ kind: 'DirectClusterEndpointToken', spec: { ttl: 600 } }));
  expect(quota.enter('DirectClusterEndpointToken', 'alice')).toBeDefined();
  clock.now += 600_000;
  expect(quota.enter('DirectClusterEndpointToken', 'alice')).toBeUndefined();
  for (let count = 0; count < 10; count++)
    expect(quota.enter('VirtualClusterInstanceKubeConfig', 'alice')).toBeUndefined();
});
