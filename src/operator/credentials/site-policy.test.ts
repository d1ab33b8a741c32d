import { describe, expect, it } from 'vitest';
import {
  type CredentialParts,
  confirmed,
  created,
  credentialObject,
  recordOf,
  stepOf,
} from '../../../test/builders/credential-object.ts';
import { finalizers } from '../../api/names.ts';
import type { CredentialKind, CredentialRecord } from '../../credentials/record.ts';
import { parseSitePolicy } from '../../credentials/site-policy.ts';
import { Locks } from '../../platform/locks.ts';
import { decideKey } from './access-keys/decide-key.ts';
import { decideIssued } from './issued/decide-issued.ts';

const config = 'in the ConfigMap latchkey-system/latchkey-site-policy';
const hour = 3_600;
const plainKey = 'a-plain-key-of-more-than-twenty-characters';
const hashed = `sha256:${'ab'.repeat(32)}`;

const partsOf = (kind: CredentialKind, spec: object): CredentialParts => ({
  kind,
  name: 'a',
  spec: spec as Record<string, unknown>,
  metadata: { finalizers: [finalizers[kind]] },
});
/** One that was never confirmed. */
const newOf = (kind: CredentialKind, spec: object): CredentialRecord =>
  recordOf(credentialObject(partsOf(kind, spec)));

/** One that was confirmed with a spec, and has this one now. */
function changedOf(kind: CredentialKind, spec: object, now: object): CredentialRecord {
  const { status } = confirmed(credentialObject(partsOf(kind, spec)));
  const issued = kind === 'DirectClusterEndpointToken' ? { signingKeyID: 'k1', token: 'a.b.c' } : {};
  return recordOf({ ...credentialObject(partsOf(kind, now)), status: { ...status, ...issued } });
}

function decide(record: CredentialRecord, data: Readonly<Record<string, string>>) {
  const shared = {
    record,
    lookup: () => undefined,
    credentialByUID: () => undefined,
    ownSecrets: [],
    now: created + 1_000,
    trustedSince: 0,
    isUnguarded: false,
    locks: new Locks(),
    sitePolicy: parseSitePolicy({ data }),
    hasRoom: () => true,
  };
  const limits = { activityInterval: 60_000, expiredRetention: 3_600_000 };
  if (record.kind === 'OwnedAccessKey') return decideKey({ ...shared, claimants: () => [], limits });
  return decideIssued({
    ...shared,
    isPublished: () => true,
    audiences: () => undefined,
    unenforcedAudiences: () => undefined,
    issuer: 'https://latchkey.example.com',
    limits: { ...limits, rotationOverlap: 600_000, maxTTL: 7_776_000 },
  });
}

const key = 'OwnedAccessKey';
const token = 'DirectClusterEndpointToken';
const kubeConfig = 'VirtualClusterInstanceKubeConfig';

describe('what was never confirmed', () => {
  it.each<[CredentialKind, object, Record<string, string>, string]>([
    [
      key,
      { user: 'alice', key: hashed },
      { requireEnd: 'true' },
      `spec.ttl: must be set, by requireEnd ${config}.`,
    ],
    [
      key,
      { user: 'alice', key: hashed, ttl: hour },
      { requireScope: 'all' },
      `spec.scope: must be set, by requireScope ${config}.`,
    ],
    [
      key,
      { user: 'alice', key: plainKey },
      { acceptPlainKey: 'false' },
      `spec.key: must be sha256: and a hash, or be left out, by acceptPlainKey ${config}.`,
    ],
    [
      token,
      { ttl: 2 * hour },
      { maxTokenTTL: '3600' },
      `spec.ttl (86400 when absent): must be at most 3600 seconds, by maxTokenTTL ${config}.`,
    ],
    [
      kubeConfig,
      { certificateTTL: 0 },
      { maxCertificateTTL: '3600' },
      `spec.certificateTTL (86400 when absent): must not be 0, and at most 3600 seconds, by maxCertificateTTL ${config}.`,
    ],
  ])('is refused: a %s with %j under %j', (kind, spec, data, message) => {
    const { desired, requeueAt } = stepOf(decide(newOf(kind, spec), data), 'commit');
    expect(desired.ready).toEqual({ status: 'False', reason: 'RefusedBySitePolicy', message });
    expect(desired.stalled).toEqual({ reason: 'RefusedBySitePolicy', message });
    expect(desired.confirmation.credentialHash).toBeUndefined();
    // The ConfigMap may change.
    expect(requeueAt).toBe(created + 61_000);
  });

  it.each<[string, object, Record<string, string>]>([
    ['without any rule', { user: 'alice', key: plainKey }, {}],
    ['by its hash', { user: 'alice', key: hashed }, { acceptPlainKey: 'false' }],
    ['within the rules', { user: 'alice', key: hashed, ttl: hour, scope: {} }, { nonsense: '' }],
  ])('is confirmed %s', (_, spec, data) => {
    const { desired } = stepOf(decide(newOf(key, spec), data), 'commit');
    expect(desired.ready).toMatchObject({ status: 'True' });
    expect(desired.stalled).toBeUndefined();
  });

  it('has a key made where none is written', () => {
    expect(decide(newOf(key, { user: 'alice' }), { acceptPlainKey: 'false' })).toMatchObject({
      step: 'generateIntoSpec',
    });
  });
});

describe('what was confirmed before the rule', () => {
  const strict = {
    maxKeyTTL: '600',
    maxTokenTTL: '600',
    requireEnd: 'fixed',
    requireScope: 'all',
    acceptPlainKey: 'false',
  };
  const old = { user: 'alice', key: plainKey };

  it.each<[CredentialKind, object, object]>([
    [key, old, {}],
    [key, old, { description: 'described' }],
    [key, { ...old, ttl: hour, ttlAfterLastActivity: true }, { displayName: 'x' }],
    [token, { ttl: hour }, {}],
    [key, { ...old, ttl: 2 * hour }, { ttl: hour }],
    [key, old, { ttl: 2 * hour }],
  ])('goes on: a %s with %j and %j', (kind, spec, more) => {
    const { desired } = stepOf(decide(changedOf(kind, spec, { ...spec, ...more }), strict), 'commit');
    expect(desired.ready.status).toBe('True');
    expect(desired.stalled).toBeUndefined();
  });

  it.each<[CredentialKind, object, object]>([
    [token, { ttl: 2 * hour }, { ttl: hour }],
    [kubeConfig, { certificateTTL: 2 * hour }, { certificateTTL: hour }],
  ])('is issued with a shorter life that is still too long: a %s with %j and then %j', (kind, spec, now) => {
    expect(
      decide(changedOf(kind, spec, now), { ...strict, maxCertificateTTL: '600', requireScope: 'false' }),
    ).toMatchObject({
      step: 'issue',
    });
  });

  it.each<[CredentialKind, object, object, string]>([
    [key, { ...old, ttl: hour }, { ttl: 2 * hour }, 'spec.ttl: must be set, and at most 600 seconds'],
    [key, { ...old, ttl: hour }, { ttl: 0 }, 'spec.ttl: must be set, and at most 600 seconds'],
    [
      key,
      { ...old, ttl: 300 },
      { ttlAfterLastActivity: true },
      'spec.ttlAfterLastActivity: must not be true',
    ],
    [token, { ttl: hour }, { ttl: 2 * hour }, 'spec.ttl (86400 when absent): must be at most 600 seconds'],
  ])('keeps its life: a %s with %j and then %j', (kind, spec, more, problem) => {
    const record = changedOf(kind, spec, { ...spec, ...more });
    const { desired } = stepOf(decide(record, strict), 'commit');
    const { credentialHash, confirmedTTL, notAfter } = record.status;
    expect(desired.confirmation).toMatchObject({ credentialHash, confirmedTTL, notAfter });
    expect(desired.ready.status).toBe('True');
    expect(desired.stalled).toEqual({
      reason: 'RefusedBySitePolicy',
      message: expect.stringContaining(problem),
    });
    // Without the rule it gets what it asks for.
    const free = decide(record, {});
    if (free.step === 'commit')
      expect(free.desired.confirmation).not.toMatchObject({ confirmedTTL, notAfter });
    else expect(free.step).toBe('issue');
  });

  it.each<[CredentialKind, object, object, string]>([
    [key, { ...old, scope: {} }, { scope: undefined }, 'spec.scope: must be set'],
    [key, { ...old, scope: {}, key: hashed }, { key: plainKey }, 'spec.key: must be sha256: and a hash'],
    [key, { ...old, scope: {} }, { key: `${plainKey}-2` }, 'spec.key: must be sha256: and a hash'],
    [token, { ttl: 300, scope: {} }, { scope: undefined }, 'spec.scope: must be set'],
    [token, { ttl: hour }, { secretRef: { namespace: 'default', name: 'other' } }, 'spec.scope: must be set'],
  ])('ends where it becomes another credential: a %s with %j and then %j', (kind, spec, more, problem) => {
    const record = changedOf(kind, spec, { ...spec, ...more });
    const { desired } = stepOf(decide(record, strict), 'commit');
    expect(desired.ready).toMatchObject({ reason: 'RefusedBySitePolicy' });
    expect(desired.ready.message).toContain(problem);
    expect(desired.confirmation.credentialHash).toBeUndefined();
  });

  it('is confirmed again as it was, after a refusal that has passed', () => {
    const record = changedOf(key, { ...old, ttl: hour }, { ...old, ttl: hour });
    const { credentialHash: _, serial, ...status } = record.status;
    const { desired } = stepOf(decide({ ...record, status: { ...status, serial } }, strict), 'commit');
    expect(desired.ready.status).toBe('True');
  });
});
