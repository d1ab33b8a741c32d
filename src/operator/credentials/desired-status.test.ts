import { describe, expect, it } from 'vitest';
import { toCredentialRecord } from '../../credentials/credential-record.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import { admissionWait, refusedStatus, requesterOf, subjectOf } from './desired-status.ts';
import { statusPatch } from './status-patch.ts';

const now = Date.UTC(2026, 10, 21, 12);
const at = (offset: number): string => new Date(now + offset).toISOString();

function recordOf(status: object, kind: CredentialRecord['kind'] = 'OwnedAccessKey'): CredentialRecord {
  const spec = kind === 'OwnedAccessKey' ? { user: 'alice' } : {};
  return toCredentialRecord({ metadata: { name: 'a', uid: '1', generation: 2 }, spec, status }, kind);
}

const fingerprintOf = (kind: CredentialRecord['kind']): string => recordOf({}, kind).fingerprints[0] ?? '';

describe('requesterOf', () => {
  const annotated = (status: object = {}): CredentialRecord => ({
    ...recordOf(status),
    requester: { user: 'mallory', groups: [] },
  });

  it('is the one of the annotation at first, and stays who it was', () => {
    expect(requesterOf(annotated())).toEqual({ requester: 'mallory' });
    expect(requesterOf(annotated({ requester: 'alice' }))).toEqual({ requester: 'alice' });
    expect(requesterOf(recordOf({}))).toEqual({});
  });

  it('lasts through a refusal, which says it of nothing that was not confirmed', () => {
    const refusal = { reason: 'Disabled', message: 'm', final: true } as const;
    expect(refusedStatus(annotated({ requester: 'alice' }), refusal).confirmation.requester).toBe('alice');
    expect(refusedStatus(annotated(), refusal).confirmation.requester).toBeUndefined();
  });
});

describe('the status of a refused key that the operator had disabled at its end', () => {
  const refusal = { reason: 'QuotaExceeded', message: 'm', final: false } as const;
  const ended = { ...recordOf({ disabledByExpiry: 7 }), disabled: true };
  const markOf = (record: CredentialRecord) => refusedStatus(record, refusal).confirmation.disabledByExpiry;

  it('says so as long as nothing else has disabled it', () => {
    expect(markOf({ ...ended, disabledOwner: 'operator' })).toBe(7);
  });

  it.each([
    ['it is enabled', { disabled: false, disabledOwner: 'none' }],
    [
      'someone disables it: the next replacement that leaves it out would enable it',
      { disabledOwner: 'other' },
    ],
  ] as const)('says so no more when %s', (_, change) => {
    expect(markOf({ ...ended, ...change })).toBeUndefined();
  });
});

describe('admissionWait', () => {
  it('says of what was never confirmed that it waits, with Ready False and Reconciling', () => {
    const desired = admissionWait(recordOf({}), now);
    expect(desired).toMatchObject({
      confirmation: { active: false },
      ready: { status: 'False', reason: 'AdmissionMissing' },
      reconciling: { reason: 'AdmissionMissing' },
    });
  });

  it.each(['OwnedAccessKey', 'DirectClusterEndpointToken'] as const)(
    'says nothing of a confirmed %s, which goes on working',
    (kind) => {
      const status = { credentialHash: 'a'.repeat(64), fingerprint: fingerprintOf(kind), serial: 1 };
      expect(admissionWait(recordOf(status, kind), now)).toBeUndefined();
      expect(admissionWait(recordOf({ ...status, notAfter: at(1_000) }, kind), now)).toBeUndefined();
    },
  );

  it.each([
    ['a spec that changed', { fingerprint: 'v1:other' }],
    ['no fingerprint', { fingerprint: undefined }],
    ['no hash, because it was refused meanwhile', { credentialHash: undefined }],
    ['an end that has come', { notAfter: at(0) }],
  ])('says so of one with %s, and takes back nothing that was confirmed', (_, change) => {
    const kind = 'DirectClusterEndpointToken';
    const status = { credentialHash: 'a'.repeat(64), fingerprint: fingerprintOf(kind), serial: 3, ...change };
    const record = recordOf(status, kind);
    const desired = admissionWait(record, now);
    expect(desired?.ready.reason).toBe('AdmissionMissing');
    expect(desired).not.toHaveProperty('credential');
    const patch = desired && statusPatch(record, desired, now);
    expect(Object.keys(patch ?? {}).sort()).toEqual(['conditions', 'observedGeneration', 'scope', 'state']);
  });

  it('makes no second write of an object that says so already', () => {
    const record = recordOf({});
    const desired = admissionWait(record, now);
    const patch = desired && statusPatch(record, desired, now);
    const written = recordOf({ ...patch });
    const again = admissionWait(written, now + 60_000);
    expect(again && statusPatch(written, again, now + 60_000)).toBeUndefined();
  });
});

describe('subjectOf', () => {
  const subjectFor = (user: string) => subjectOf(recordOf({}), { kind: 'user', user, groups: [] }).subject;

  it.each([
    ['says a name as it is', 'alice', 'alice'],
    ['says the longest one that the schema takes', '🔑'.repeat(1_024), '🔑'.repeat(1_024)],
    ['cuts a longer one, whole characters only', `a${'🔑'.repeat(2_000)}`, `a${'🔑'.repeat(1_023)}`],
  ])('%s', (_, user, expected) => {
    expect(subjectFor(user)).toBe(expected);
  });
});
