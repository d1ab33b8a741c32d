import { describe, expect, it } from 'vitest';
import {
  type CredentialParts,
  created,
  liveRecord,
  plainKeyOf,
} from '../../../test/builders/credential-object.ts';
import { locksOf } from '../../../test/builders/lock.ts';
import { formatInstant } from '../../api/instant.ts';
import { finalizers } from '../../api/names.ts';
import type { CredentialRecord } from '../../credentials/record.ts';
import { noSitePolicy } from '../../credentials/site-policy.ts';
import type { Locks } from '../../platform/locks.ts';
import { decideIssued } from './issued/decide-issued.ts';

const kind = 'DirectClusterEndpointToken';
const hour = 3_600_000;
const parent = liveRecord({
  name: 'above',
  spec: { user: 'alice', groups: ['dev'], key: plainKeyOf('above') },
});

function token(parts: CredentialParts = {}): CredentialRecord {
  const { status = {}, spec = {} } = parts;
  return liveRecord(
    {
      ...{ kind, name: 't', metadata: { finalizers: [finalizers[kind]] } },
      spec: { accessKey: 'above', ttl: 7_200, renewBefore: 3_600, ...spec },
      status: {
        signingKeyID: 'k1',
        token: 'a.b.c',
        observedGeneration: 1,
        confirmedGroups: ['dev'],
        ...status,
      },
    },
    [parent],
  );
}

const decide = (record: CredentialRecord, locks: Locks, now = created + 1_000, published = ['k1']) =>
  decideIssued({
    ...{ record, locks, now, sitePolicy: noSitePolicy, ownSecrets: [] },
    lookup: (name) => (name === 'above' ? parent : undefined),
    credentialByUID: () => undefined,
    isPublished: (signingKeyID) => published.includes(signingKeyID ?? 'none'),
    issuer: 'https://latchkey.example.com',
    audiences: () => ['https://latchkey.example.com/clusters'],
    unenforcedAudiences: () => ['https://latchkey.example.com/clusters'],
    ...{ trustedSince: 0, isUnguarded: false, hasRoom: () => true },
    limits: { activityInterval: 0, expiredRetention: hour, rotationOverlap: 600_000, maxTTL: 86_400 },
  });

const before = (ms: number) => ({ issuedBefore: formatInstant(created + ms) });

describe('a token that a lock stops', () => {
  it.each<[string, object]>([
    ['its user', { user: 'alice' }],
    ['a group', { group: 'dev' }],
    ['the key above', { accessKey: { name: 'above' } }],
    ['its requester', { requester: 'alice' }],
    ['the hash of the key above', { credentialHash: parent.status.credentialHash }],
    ['everything older than the key above', before(1_000)],
  ])('by %s is kept as it is, says so, and is not renewed', (_, spec) => {
    for (const now of [created + 1_000, created + 1.5 * hour]) {
      const step = decide(token(), locksOf(spec), now);
      expect(step).toMatchObject({
        step: 'commit',
        desired: {
          ready: { status: 'False', reason: 'Locked', message: expect.stringContaining('"lock-0"') },
          confirmation: { credentialHash: token().status.credentialHash, serial: 1 },
        },
      });
      expect(step).not.toHaveProperty('desired.credential');
    }
  });

  it.each<[string, object]>([
    ['its hash', { credentialHash: token().status.credentialHash }],
    ['the key that signed it', { signingKeyID: 'k1' }],
  ])('by %s says so, and its successor comes as planned', (_, spec) => {
    expect(decide(token(), locksOf(spec))).toMatchObject({
      step: 'commit',
      desired: { ready: { status: 'False', reason: 'Locked' } },
    });
    expect(decide(token(), locksOf(spec), created + 1.5 * hour)).toMatchObject({
      step: 'issue',
      cause: 'Renewed',
    });
  });

  it('by the key that signed it is replaced as soon as that key is withdrawn', () => {
    const step = decide(token(), locksOf({ signingKeyID: 'k1' }), created + 1_000, ['k2']);
    expect(step).toMatchObject({ step: 'issue', cause: 'SigningKeyRevoked', keepPrevious: false });
  });

  it('ends as every other', () => {
    const step = decide(token(), locksOf({ user: 'alice' }), created + 3 * hour);
    expect(step).toMatchObject({ desired: { ready: { reason: 'Expired' } } });
  });

  it('works again when the lock has ended', () => {
    const locks = locksOf({ user: 'alice', expirationTimestamp: formatInstant(created + 1_000) });
    expect(decide(token(), locks)).toMatchObject({ desired: { ready: { status: 'True' } } });
  });
});

it('nothing is issued for the first time while a lock stops its user', () => {
  const fresh = { ...token(), status: { serial: 0 } } as CredentialRecord;
  const step = decide(fresh, locksOf({ user: 'alice' }));
  expect(step).toMatchObject({ step: 'commit', desired: { ready: { status: 'False', reason: 'Locked' } } });
});
