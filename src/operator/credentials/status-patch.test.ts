import { describe, expect, it } from 'vitest';
import { created, credentialObject, recordOf } from '../../../test/builders/credential-object.ts';
import type { DesiredStatus } from './desired-status.ts';
import { isLockMessageOnly, onlyDescribes, statusPatch } from './status-patch.ts';

const now = created + 5_000;
const hash = 'a'.repeat(64);
const desired: DesiredStatus = {
  confirmation: {
    credentialHash: hash,
    serial: 1,
    confirmedTTL: 0,
    notAfter: created + 60_000,
    active: true,
  },
  ready: { status: 'True', reason: 'Issued', message: 'works' },
};
const pending = {
  type: 'Ready',
  status: 'Unknown',
  reason: 'Pending',
  message: '',
  lastTransitionTime: '1970-01-01T00:00:00Z',
};
const ready = {
  type: 'Ready',
  status: 'True',
  reason: 'Issued',
  message: 'works',
  observedGeneration: 1,
  lastTransitionTime: '2026-11-21T10:00:01Z',
};
const written = {
  credentialHash: hash,
  serial: 1,
  confirmedTTL: 0,
  notAfter: '2026-11-21T10:01:00Z',
  active: true,
  scope: '(everything)',
  state: 'Ready',
  observedGeneration: 1,
  conditions: [ready],
};
const record = (
  status: Record<string, unknown>,
  kind: 'OwnedAccessKey' | 'DirectClusterEndpointToken' = 'OwnedAccessKey',
) => recordOf(credentialObject({ kind, status }));

describe('statusPatch', () => {
  it('writes everything over the default of the schema', () => {
    const patch = statusPatch(record({ observedGeneration: -1, conditions: [pending] }), desired, now);
    expect(patch).toEqual({
      ...written,
      conditions: [{ ...ready, lastTransitionTime: '2026-11-21T10:00:05Z' }],
    });
  });

  it('is nothing when status says all of it already', () => {
    expect(statusPatch(record(written), desired, now)).toBeUndefined();
  });

  it('leaves nothing of the predecessor before in the present one', () => {
    const former = { credentialHash: 'b'.repeat(64), serial: 1, expirationTimestamp: '2026-11-21T10:00:30Z' };
    const previous = { credentialHash: 'c'.repeat(64), serial: 2, expirationTimestamp: created + 40_000 };
    const next = { ...desired, confirmation: { ...desired.confirmation, previous } };
    const wanted = { ...previous, expirationTimestamp: '2026-11-21T10:00:40Z' };
    expect(statusPatch(record(written), next, now)).toEqual({ previous: wanted });
    expect(statusPatch(record({ ...written, previous: { ...former, keyID: 'k1' } }), next, now)).toEqual({
      previous: { ...wanted, keyID: null, signingKeyID: null, issuedAt: null, tokenID: null },
    });
    const named = { ...next.confirmation, previous: { ...previous, signingKeyID: 'k2' } };
    expect(
      statusPatch(record({ ...written, previous: former }), { ...next, confirmation: named }, now),
    ).toEqual({ previous: { ...wanted, keyID: null, signingKeyID: 'k2', issuedAt: null, tokenID: null } });
  });

  it('writes the ID of a token with its serial, which a later token without an ID does not have', () => {
    const [first, second] = ['d'.repeat(43), 'e'.repeat(43)];
    const previous = {
      ...{ credentialHash: 'c'.repeat(64), serial: 2, expirationTimestamp: created + 40_000 },
      tokenIDHash: first,
    };
    const confirmation = { ...desired.confirmation, serial: 3, tokenIDHash: second, previous };
    expect(statusPatch(record(written), { ...desired, confirmation }, now)).toMatchObject({
      serial: 3,
      tokenID: { serial: 3, hash: second },
      previous: { serial: 2, tokenID: { serial: 2, hash: first } },
    });
    const withID = { ...written, tokenID: { serial: written.serial, hash: first } };
    expect(statusPatch(record(withID), desired, now)).toEqual({ tokenID: null });
  });

  it('keeps the transition time of a condition whose status stays', () => {
    const changed = { ...desired, ready: { ...desired.ready, message: 'still works' } };
    expect(statusPatch(record(written), changed, now)).toEqual({
      conditions: [{ ...ready, message: 'still works' }],
    });
  });

  it('removes what is confirmed no more, by null', () => {
    const refused: DesiredStatus = {
      confirmation: { serial: 1, active: false },
      ready: { status: 'False', reason: 'DuplicateKey', message: 'taken' },
      stalled: { reason: 'DuplicateKey', message: 'taken' },
    };
    expect(statusPatch(record(written), refused, now)).toMatchObject({
      credentialHash: null,
      confirmedTTL: null,
      notAfter: null,
      active: false,
      conditions: [
        { type: 'Ready', status: 'False' },
        { type: 'Stalled', status: 'True', reason: 'DuplicateKey' },
      ],
    });
  });

  it('drops a condition that does not hold any more', () => {
    const soon = { ...ready, type: 'ExpiringSoon' };
    expect(statusPatch(record({ ...written, conditions: [ready, soon] }), desired, now)).toEqual({
      conditions: [ready],
    });
  });

  it('says which generation it has seen', () => {
    expect(statusPatch(record({ ...written, observedGeneration: 0 }), desired, now)).toEqual({
      observedGeneration: 1,
    });
  });

  it('never writes the last activity, which belongs to the gateway', () => {
    const active = { ...desired, confirmation: { ...desired.confirmation, lastActivity: created } };
    expect(statusPatch(record(written), active, now)).toBeUndefined();
  });

  it.each([
    ['writes a token', { token: undefined }, 'x.y.z', { token: 'x.y.z' }],
    ['removes a token', { token: 'a.b.c' }, null, { token: null }],
    ['leaves an absent token absent', { token: undefined }, null, {}],
    ['leaves a token alone', { token: 'a.b.c' }, undefined, {}],
  ])('%s', (_, present, credential, change) => {
    const token = record({ ...written, active: undefined, ...present }, 'DirectClusterEndpointToken');
    const { active: _keysOnly, ...confirmation } = desired.confirmation;
    const wanted = { ...desired, confirmation, ...(credential === undefined ? {} : { credential }) };
    expect(statusPatch(token, wanted, now) ?? {}).toEqual(change);
  });
});

describe('onlyDescribes', () => {
  const subject = 'alice';
  const described = { ...desired, confirmation: { ...desired.confirmation, subject } };

  it.each<[string, Record<string, unknown>, DesiredStatus, boolean]>([
    ['what an earlier release did not write for people', written, described, true],
    ['nothing', { ...written, subject }, described, false],
    ['the hash of the credential besides', { ...written, credentialHash: 'b'.repeat(64) }, described, false],
    ['a condition besides', { ...written, conditions: [pending] }, described, false],
  ])('judges a write of %s', (_, status, wanted, expected) => {
    expect(onlyDescribes(record(status), wanted, now)).toBe(expected);
  });
});

describe('isLockMessageOnly', () => {
  const lockedBy = (name: string) => ({ status: 'False', reason: 'Locked', message: name }) as const;
  const told = (before: object, wanted: DesiredStatus, parts: object = {}) =>
    isLockMessageOnly(
      { ...record({ ...written, conditions: [{ ...ready, ...before }] }), ...parts },
      { ...desired, ...wanted },
    );

  it.each<[string, object, DesiredStatus['ready'], boolean]>([
    ['a lock comes', {}, lockedBy('one'), true],
    ['it goes', lockedBy('one'), desired.ready, true],
    ['another one stops it now', lockedBy('one'), lockedBy('two'), true],
    ['it says so already', lockedBy('one'), lockedBy('one'), false],
    ['it works on', {}, desired.ready, false],
    [
      'its life has ended meanwhile',
      lockedBy('one'),
      { status: 'False', reason: 'Expired', message: 'over' },
      false,
    ],
    ['it is new', { status: 'Unknown', reason: 'Pending' }, lockedBy('one'), false],
  ])('when %s: %#', (_, before, wanted, expected) => {
    expect(told(before, { ...desired, ready: wanted })).toBe(expected);
  });

  it.each<[string, object]>([
    ['a certificate', { kubeConfig: { clientCert: true } }],
    ['a change that is not confirmed yet', { generation: 2 }],
  ])('is false for %s', (_, parts) => {
    expect(told({}, { ...desired, ready: lockedBy('one') }, parts)).toBe(false);
  });

  it('is false for another credential', () => {
    const confirmation = { ...desired.confirmation, credentialHash: 'b'.repeat(64) };
    expect(told({}, { confirmation, ready: lockedBy('one') })).toBe(false);
  });
});
