import { describe, expect, it } from 'vitest';
import { type CredentialParts, liveRecord, uidOf } from '../../../test/builders/credential-object.ts';
import { verdictFor } from '../../../test/builders/gateway-stage.ts';
import { annotations } from '../../api/names.ts';
import { CredentialRecords } from './credential-records.ts';
import { findAllOwn, isOwn } from './ownership.ts';

const by = (requester: string) => ({ annotations: { [annotations.requester]: requester } });
const scope = { clusters: [{ cluster: '*' }] };
const self = liveRecord({ name: 'self' });
const whole = { ...verdictFor(), record: self };
const limited = { ...verdictFor(scope), record: self };
const pinned = (uid: string) => ({ status: { accessKeyUID: uid } });

const cases: readonly (readonly [string, CredentialParts, { whole: boolean; limited: boolean }])[] = [
  ['a key that one made', { spec: { user: 'bob' } }, { whole: true, limited: false }],
  ['a key for oneself that somebody else made', by('root'), { whole: true, limited: false }],
  ['a key of somebody else', { ...by('bob'), spec: { user: 'bob' } }, { whole: false, limited: false }],
  [
    'a key for a subject of that name',
    { ...by('bob'), spec: { subject: 'alice' } },
    { whole: true, limited: false },
  ],
  [
    'a key for a team of that name',
    { ...by('bob'), spec: { team: 'alice' } },
    { whole: false, limited: false },
  ],
  [
    'a child that somebody else made for oneself',
    { ...by('bob'), spec: { user: 'alice', accessKey: 'self' } },
    { whole: false, limited: false },
  ],
  ['a child that one made', { spec: { accessKey: 'self' } }, { whole: true, limited: true }],
  [
    'a child that is confirmed',
    { spec: { accessKey: 'self' }, ...pinned(uidOf('self')) },
    { whole: true, limited: true },
  ],
  [
    'a child of a former key of the name',
    { spec: { accessKey: 'self' }, ...pinned('other') },
    { whole: true, limited: false },
  ],
  ['a child of another key', { spec: { accessKey: 'other' } }, { whole: true, limited: false }],
  ['itself', { name: 'self' }, { whole: true, limited: true }],
  [
    'itself, when somebody else made it below a key',
    { name: 'self', ...by('bob'), spec: { accessKey: 'other' } },
    { whole: true, limited: true },
  ],
  [
    'a token that somebody else made',
    { kind: 'DirectClusterEndpointToken', ...by('bob') },
    { whole: false, limited: false },
  ],
  ['a token that one made', { kind: 'DirectClusterEndpointToken' }, { whole: true, limited: false }],
];

describe('what is one’s own', () => {
  it.each(cases)('%s: %o %o', (_, parts, expected) => {
    const record = liveRecord(parts);
    expect({ whole: isOwn(record, whole), limited: isOwn(record, limited) }).toEqual(expected);
  });

  it.each(cases)('is found by the index exactly then: %s', (_, parts, expected) => {
    const record = liveRecord(parts);
    const records = new CredentialRecords();
    records.ofKind[record.kind].upsert(record);
    for (const [name, holder] of Object.entries({ whole, limited })) {
      const found = findAllOwn(records, record.kind, holder).filter(({ uid }) => uid === record.uid);
      expect(found.length > 0).toBe(expected[name as keyof typeof expected]);
    }
  });
});
