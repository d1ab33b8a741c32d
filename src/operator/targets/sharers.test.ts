import { describe, expect, it } from 'vitest';
import { clusterRecord, instanceRecord, readyStatus } from '../../../test/builders/target-record.ts';
import type { AdminKubeConfig } from '../../platform/targets/admin-kubeconfig/admin-kube-config.ts';
import { isUsed, sharersOf } from './sharers.ts';

const config = (server: string, ca: string): AdminKubeConfig => ({ server: new URL(server), ca, token: 't' });
const place = config('https://shop.example.com', 'ca');
const deletionTimestamp = '2026-11-21T10:00:00Z';
const other = instanceRecord({ name: 'b' });

/** UIDs of those that share with `uid-of-a`, when the other one is known to lead there. */
function found(theirs: AdminKubeConfig | undefined, record = other, ours: typeof theirs = place) {
  const known = new Map([
    ['uid-of-a', ours],
    [other.uid, theirs],
  ]);
  const records = [instanceRecord({ name: 'a' }), record];
  return sharersOf('uid-of-a', records, { known: (uid) => known.get(uid) }).map(({ uid }) => uid);
}

describe('those that share a target', () => {
  it('lead to the same server with the same authority', () => {
    expect(found(config('https://shop.example.com/', 'ca'))).toEqual(['uid-of-b']);
  });

  it.each([
    ['leads to another server', config('https://other.example.com', 'ca')],
    ['leads to another port', config('https://shop.example.com:8443', 'ca')],
    ['leads to another path', config('https://shop.example.com/b', 'ca')],
    ['has another authority', config('https://shop.example.com', 'other')],
    ['was never opened', undefined],
  ])('are without one that %s', (_, theirs) => {
    expect(found(theirs)).toEqual([]);
  });

  it('are without one that is being deleted', () => {
    expect(found(place, instanceRecord({ name: 'b', metadata: { deletionTimestamp } }))).toEqual([]);
  });

  it('are not known of a target that was never opened', () => {
    expect(found(undefined, other, undefined)).toEqual([]);
  });
});

describe('an object of a target', () => {
  const [users, rights] = [{ isForUsers: true }, { isForUsers: false }];
  const ready = { status: readyStatus('True', 'Connected') };
  const failed = { status: readyStatus('False', 'TargetForbidden') };

  it.each([
    ['a ready instance', instanceRecord(ready), true, true],
    ['a ready cluster, but for the role of users', clusterRecord(ready), true, false],
  ] as const)('is used by %s', (_, record, hasRights, hasUsers) => {
    expect([isUsed(rights, [record]), isUsed(users, [record])]).toEqual([hasRights, hasUsers]);
  });

  it.each([
    ['no one', []],
    ['one that is not ready', [instanceRecord(failed)]],
    ['one that was never ready', [clusterRecord()]],
  ])('is not used by %s', (_, records) => {
    expect(isUsed(rights, records)).toBe(false);
  });
});
