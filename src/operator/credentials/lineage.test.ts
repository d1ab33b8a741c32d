import { describe, expect, it } from 'vitest';
import {
  type CredentialParts,
  confirmed,
  created,
  credentialObject,
  liveRecord,
  recordOf,
} from '../../../test/builders/credential-object.ts';
import { annotations } from '../../api/names.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import { noSitePolicy } from '../../credentials/site-policy.ts';
import { Locks } from '../../platform/locks.ts';
import { confirmedGroupsOf, lineageOf } from './lineage.ts';

const judge = (record: CredentialRecord, keys: readonly CredentialRecord[] = []) =>
  lineageOf({
    record,
    lookup: (name) => keys.find((key) => key.name === name),
    credentialByUID: () => undefined,
    now: created,
    trustedSince: 0,
    isUnguarded: false,
    locks: new Locks(),
    sitePolicy: noSitePolicy,
    limits: { activityInterval: 0 },
  });

describe('an object that does not say who asked for it', () => {
  const key = { user: 'root', groups: ['admins'], key: 'another-key-of-twenty-characters' };
  const none = { [annotations.requester]: undefined, [annotations.requesterGroups]: undefined };
  const half = { [annotations.requesterGroups]: undefined };
  const above = liveRecord({
    name: 'above',
    spec: { user: 'alice', groups: ['dev'], key: 'k'.repeat(30), allowedNamespaces: ['shop'] },
    status: { allowedNamespaces: [{ name: 'shop', uid: '0b1c' }], observedGeneration: 1 },
  });
  const kubeConfig = { virtualClusterInstance: 'shop', accessKey: 'above' };
  const invited: CredentialParts = {
    kind: 'VirtualClusterInstanceKubeConfig',
    metadata: { namespace: 'shop' },
    spec: kubeConfig,
  };
  const token: CredentialParts = { kind: 'DirectClusterEndpointToken', spec: {} };

  it.each<[string, CredentialParts]>([
    ['a key for another user', { spec: key }],
    ['a key for oneself', { spec: { user: 'alice', key: key.key } }],
    ['a key with half of the record', { spec: key, annotations: half }],
    ['a token', token],
    ['a token below a key', { ...token, spec: { accessKey: 'above' } }],
    ['a kubeconfig in a namespace that is invited', invited],
  ])('gets nothing: %s', (_, parts) => {
    const record = recordOf(credentialObject({ annotations: none, ...parts }));
    expect(judge(record, [above])).toMatchObject({
      kind: 'refused',
      problem: { reason: 'RequesterUnknown' },
    });
  });

  it('gets nothing more once it was changed', () => {
    const before = confirmed(credentialObject({ annotations: none, spec: key }));
    const after = recordOf({ ...before, spec: { ...key, groups: ['others'] } });
    expect(judge(after)).toMatchObject({ kind: 'refused', problem: { reason: 'RequesterUnknown' } });
  });

  it.each<[string, CredentialParts, readonly CredentialRecord[]]>([
    ['a key', { spec: key }, []],
    ['an invited kubeconfig', invited, [above]],
  ])('goes on as it was confirmed: %s', (_, parts, keys) => {
    const record = liveRecord({ annotations: none, ...parts }, keys);
    expect(judge(record, keys)).toMatchObject({ kind: 'live' });
  });

  it('gets no groups that the key above got since it was confirmed', () => {
    const parts = { annotations: none, ...invited, status: { confirmedGroups: [] } };
    const lineage = judge(liveRecord(parts, [above]), [above]);
    expect(lineage).toMatchObject({ kind: 'live', identity: { user: 'alice', groups: [] } });
  });
});

describe('an object that was confirmed for someone', () => {
  const token = { kind: 'DirectClusterEndpointToken', spec: {} } as const;
  const key = { spec: { user: 'alice', key: 'another-key-of-twenty-characters' } };
  const named = (requester?: string) => ({
    status: { requester: 'alice', subject: 'alice' },
    annotations: { [annotations.requester]: requester },
  });

  it.each<[string, CredentialParts, string | undefined]>([
    ['a key that names another one now', key, 'mallory'],
    ['a token that names another one now', token, 'mallory'],
    ['a key that names no one now', key, undefined],
  ])('gets nothing, and no change makes it right: %s', (_, parts, requester) => {
    const lineage = judge(liveRecord({ ...parts, ...named(requester) }));
    const message = expect.stringContaining('delete it and create it again');
    expect(lineage).toMatchObject({ kind: 'refused', problem: { reason: 'RequesterUnknown', message } });
  });

  it('goes on where it names the same, or was confirmed by a release that did not say', () => {
    expect(judge(liveRecord({ ...key, ...named('alice') }))).toMatchObject({ kind: 'live' });
    const { annotations: stamps } = named('mallory');
    expect(judge(liveRecord({ ...key, annotations: stamps }))).toMatchObject({ kind: 'live' });
  });
});

describe('a credential two levels below a key that the operator has not looked at since it changed', () => {
  const top = liveRecord({ name: 'top', metadata: { generation: 2 }, status: { observedGeneration: 1 } });
  const middle = liveRecord(
    { name: 'middle', spec: { accessKey: 'top', key: 'm'.repeat(30) }, status: { observedGeneration: 1 } },
    [top],
  );
  const below: CredentialParts = { kind: 'DirectClusterEndpointToken', spec: { accessKey: 'middle' } };
  const judged = (change: object, lost: object = {}) =>
    judge(liveRecord(below, [middle, top]), [
      { ...middle, status: { ...middle.status, ...lost } },
      { ...top, ...change },
    ]);
  const gone = { credentialHash: undefined };

  it('waits while that may be all', () => {
    expect(judged({}, gone)).toMatchObject({ kind: 'blocked', tooEarly: true });
  });

  it.each<[string, object, object]>([
    ['is deleted, and held by a finalizer', { deleted: created }, {}],
    ['is deleted, and what is below it has lost its credential', { deleted: created }, gone],
    ['is disabled', { disabled: true }, {}],
  ])('waits for nothing when it %s', (_, change, lost) => {
    expect(judged(change, lost)).toMatchObject({ kind: 'blocked', tooEarly: false });
  });
});

const many = (count: number, length = 10): readonly string[] =>
  Array.from({ length: count }, (_, index) => String(index).padStart(length, 'g'));

describe('the groups that are confirmed of a token without a key above', () => {
  const token = recordOf(credentialObject({ kind: 'DirectClusterEndpointToken', spec: {} }));
  const of = (groups: readonly string[], record = token) =>
    confirmedGroupsOf(record, { kind: 'requester', user: 'alice', groups });

  it.each([
    ['none', []],
    ['as many as there may be', many(512)],
    ['one as long as there may be', many(1, 1_024)],
  ])('are those of its requester: %s', (_, groups) => {
    expect(of(groups)).toEqual({ confirmedGroups: groups });
  });

  it.each([
    ['too many', many(513)],
    ['one too long', many(1, 1_025)],
    ['too much of them', many(17, 1_000)],
  ])('are left out where the status has no room for them: %s', (_, groups) => {
    expect(of(groups)).toEqual({});
  });

  it('stay as they are while no one can be asked, and are none of a key', () => {
    const status = { confirmedGroups: ['dev'] };
    const known = recordOf(credentialObject({ kind: 'DirectClusterEndpointToken', spec: {}, status }));
    expect(confirmedGroupsOf(known, undefined)).toEqual(status);
    const key = recordOf(credentialObject({ spec: { user: 'alice', groups: ['dev'] } }));
    expect(of(['dev'], key)).toEqual({});
  });
});
