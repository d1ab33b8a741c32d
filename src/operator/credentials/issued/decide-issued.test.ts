import { describe, expect, it } from 'vitest';
import {
  type CredentialParts,
  confirmed,
  created,
  credentialObject,
  liveRecord,
  recordOf,
  stepOf,
  uidOf,
} from '../../../../test/builders/credential-object.ts';
import { annotations, finalizers, labels } from '../../../api/names.ts';
import { chainOf } from '../../../credentials/ancestors.ts';
import { credentialHash } from '../../../credentials/keys/credential-hash.ts';
import type { CredentialRecord } from '../../../credentials/record.ts';
import { noSitePolicy } from '../../../credentials/site-policy.ts';
import { Locks } from '../../../platform/locks.ts';
import type { SecretRecord } from '../secret-record.ts';
import { decideIssued } from './decide-issued.ts';
import type { IssuedInput, IssuedStep } from './issued-steps.ts';
import { issuedStatus } from './status.ts';

const kind = 'DirectClusterEndpointToken';
const signed = { document: 'd.e.f', credentialHash: credentialHash('d.e.f'), signingKeyID: 'k1' };
const limits = {
  activityInterval: 60_000,
  expiredRetention: 3_600_000,
  rotationOverlap: 600_000,
  maxTTL: 7_776_000,
};
const metadata = { finalizers: [finalizers[kind]] };
const second = 1_000;
const hour = 3_600 * second;

const token = (parts: CredentialParts = {}): CredentialRecord =>
  recordOf(credentialObject({ kind, name: 't', ...parts, metadata: { ...metadata, ...parts.metadata } }));

/** A token that was issued at `created`, signed by `k1`, and stands in its status. */
function issuedToken(
  parts: CredentialParts = {},
  ancestors: readonly CredentialRecord[] = [],
): CredentialRecord {
  const object = credentialObject({
    kind,
    name: 't',
    ...parts,
    metadata: { ...metadata, ...parts.metadata },
  });
  const withToken = {
    ...object,
    status: { signingKeyID: 'k1', token: 'a.b.c', observedGeneration: 1, ...object.status },
  };
  return recordOf(confirmed(withToken, ancestors));
}

interface Surroundings {
  readonly keys?: readonly CredentialRecord[];
  readonly now?: number;
  readonly published?: readonly string[];
}

function inputOf(
  record: CredentialRecord,
  { keys = [], now = created + second, published = ['k1'] }: Surroundings = {},
): IssuedInput {
  return {
    record,
    lookup: (name) => keys.find((key) => key.name === name),
    credentialByUID: (uid) => keys.find((key) => key.uid === uid),
    isPublished: (signingKeyID) => published.includes(signingKeyID ?? 'none'),
    issuer: 'https://latchkey.example.com',
    audiences: () => ['https://latchkey.example.com/clusters'],
    unenforcedAudiences: () => ['https://latchkey.example.com/clusters'],
    ownSecrets: [],
    now,
    trustedSince: 0,
    isUnguarded: false,
    locks: new Locks(),
    sitePolicy: noSitePolicy,
    hasRoom: () => true,
    limits,
  };
}

const decide = (record: CredentialRecord, surroundings: Surroundings = {}): IssuedStep =>
  decideIssued(inputOf(record, surroundings));

const issued = (record: CredentialRecord, surroundings: Surroundings = {}) =>
  stepOf(decide(record, surroundings), 'issue');

const settled = (record: CredentialRecord, surroundings: Surroundings = {}) =>
  stepOf(decide(record, surroundings), 'commit');

describe('the policy for a new token', () => {
  it('adds the finalizer before anything else', () => {
    expect(decide(recordOf(credentialObject({ kind })))).toEqual({ step: 'addFinalizer' });
  });

  it('issues for the requester, for a day', () => {
    expect(issued(token())).toMatchObject({
      identity: { user: 'alice', groups: ['dev'] },
      serial: 1,
      cause: 'Issued',
      end: created + second + 86_400 * second,
      keepPrevious: false,
    });
  });

  it('shortens a life beyond the maximum', () => {
    expect(issued(token({ spec: { ttl: 9_000_000 } })).ttl).toBe(limits.maxTTL);
  });

  it.each([
    [
      'a service account',
      { [annotations.requester]: 'system:serviceaccount:argocd:argocd' },
      'RequesterNotAllowed',
    ],
    ['no one that the stamps name', { [annotations.requester]: '' }, 'RequesterUnknown'],
  ])('issues nothing for %s', (_, stamps, reason) => {
    const { desired } = settled(token({ annotations: stamps }));
    expect(desired.ready).toMatchObject({ status: 'False', reason });
    expect(desired.credential).toBeNull();
  });
});

describe('the policy for an object that is older than the policies that stamp it', () => {
  const trustedSince = created + 1;

  it('issues nothing, because its stamps may say anything', () => {
    const step = decideIssued({ ...inputOf(token()), trustedSince });
    expect(step).toMatchObject({ step: 'commit', desired: { ready: { reason: 'RequesterUnknown' } } });
  });

  it('leaves alone what was issued before', () => {
    const step = decideIssued({ ...inputOf(issuedToken()), trustedSince });
    expect(step).toMatchObject({ step: 'commit', desired: { ready: { status: 'True' } } });
  });
});

describe('the policy for a token that was issued', () => {
  it('keeps it as it is until the warning is due', () => {
    const step = settled(issuedToken({ spec: { ttl: 100 } }));
    expect(step.desired.ready.status).toBe('True');
    expect(step.requeueAt).toBe(created + 80 * second);
  });

  it('issues another at once when the spec changes, and the predecessor is dead', () => {
    const before = issuedToken();
    const after = { ...before, fingerprints: ['v1:another'] };
    expect(issued(after)).toMatchObject({ serial: 2, cause: 'Confirmed', keepPrevious: false });
  });

  it('issues nothing when only the version of the fingerprint changed, and stamps the present one', () => {
    const before = issuedToken();
    const after = { ...before, fingerprints: ['v2:new', before.fingerprints[0] ?? ''] };
    expect(settled(after).desired.confirmation).toMatchObject({ serial: 1, fingerprint: 'v2:new' });
  });

  it.each([
    ['its signing key was revoked', {}, { published: [] }, 'SigningKeyRevoked'],
    ['a rotation is asked for', { rotate: 'now' }, {}, 'Rotated'],
    ['it stands in status no more', { holdsCredential: false }, {}, 'Issued'],
    ['its Secret is lost', { secretRef: { namespace: 'default', name: 'out' } }, {}, 'SecretReplaced'],
  ] as const)('issues another when %s', (_, change, surroundings, cause) => {
    const record = { ...issuedToken({ spec: { ttl: 100 } }), ...change };
    expect(issued(record, { ...surroundings, now: created + 50 * second })).toMatchObject({
      serial: 2,
      cause,
      keepPrevious: false,
      // Who may delete a Secret, or has left the groups in it, must not lengthen a life.
      end: created + 100 * second,
    });
  });

  it.each([
    ['a narrow one of an earlier release', { projects: [{ project: 'web' }] }, {}, 2],
    [
      'a narrow one that says so in its header',
      { projects: [{ project: 'web' }] },
      { criticalScopes: true },
      1,
    ],
    [
      'a narrow one for a cluster that enforces scopes',
      { rules: [{ cluster: 'web' }] },
      { audiences: ['https://latchkey.example.com/cluster/web/scoped'] },
      1,
    ],
    [
      'a narrow one for a cluster with that name',
      { rules: [{ cluster: 'scoped' }] },
      { audiences: ['https://latchkey.example.com/cluster/scoped'] },
      2,
    ],
    [
      'a narrow one that the platform takes too',
      { rules: [{ cluster: 'web' }] },
      { audiences: ['https://latchkey.example.com/cluster/web/scoped', 'https://latchkey.example.com'] },
      2,
    ],
    [
      'a narrow one for a cluster of another base URL',
      { rules: [{ cluster: 'web' }] },
      { audiences: ['https://latchkey.example.com/cluster/cluster/web/scoped'] },
      2,
    ],
    ['one for a cluster', { clusters: [{ cluster: 'web' }] }, {}, 1],
  ])(
    'issues again, until the same end, only what verifiers could take for a wider one: %s',
    (_, scope, status, serial) => {
      const step = decide(issuedToken({ spec: { scope, ttl: 100 }, status }));
      if (serial === 2) expect(step).toMatchObject({ step: 'issue', serial, end: created + 100 * second });
      else expect(step.step).toBe('commit');
    },
  );

  it('says for people who it speaks for, where, and by which names it is known', () => {
    const hash = credentialHash('d.e.f');
    const { confirmation } = issuedStatus(inputOf(token()), issued(token()), signed);
    expect(confirmation).toMatchObject({
      keyID: hash.slice(0, 16),
      signingKeyID: 'k1',
      subject: 'alice',
      audiences: ['https://latchkey.example.com/clusters'],
    });
  });

  it('describes a token of an earlier release, which kept the signing key as keyID, without another one', () => {
    const record = issuedToken({ status: { signingKeyID: undefined, keyID: 'k1' } });
    const { confirmation } = settled(record).desired;
    expect(confirmation).toMatchObject({
      credentialHash: record.status.credentialHash,
      serial: 1,
      keyID: record.status.credentialHash?.slice(0, 16),
      signingKeyID: 'k1',
      subject: 'alice',
      audiences: ['https://latchkey.example.com/clusters'],
    });
    expect(issued(record, { published: ['k2'] }).cause).toBe('SigningKeyRevoked');
  });

  it('does not go by what it wrote before an operator of an earlier release issued another token', () => {
    const stale = { signingKeyID: 'k1', audiences: ['https://latchkey.example.com/elsewhere'] };
    const record = issuedToken({ status: { keyID: 'k2', ...stale } });
    expect(issued(record, { published: ['k1'] }).cause).toBe('SigningKeyRevoked');
    expect(settled(record, { published: ['k2'] }).desired.confirmation).toMatchObject({
      keyID: record.status.credentialHash?.slice(0, 16),
      signingKeyID: 'k2',
      audiences: ['https://latchkey.example.com/clusters'],
    });
  });

  it('drops a predecessor whose signing key was revoked', () => {
    const previous = {
      credentialHash: '0'.repeat(64),
      serial: 1,
      expirationTimestamp: created + hour,
      signingKeyID: 'k0',
    };
    const record = issuedToken();
    const withPrevious = { ...record, status: { ...record.status, previous } };
    expect(settled(withPrevious, { published: ['k0', 'k1'] }).desired.confirmation.previous).toEqual(
      previous,
    );
    expect(settled(withPrevious).desired.confirmation.previous).toBeUndefined();
  });
});

describe('the policy for the end of a token', () => {
  const record = issuedToken({ spec: { ttl: 100 } });
  const end = created + 100 * second;

  it('clears it and keeps what was confirmed, so that it is not issued again by itself', () => {
    const { desired } = settled(record, { now: end });
    expect(desired).toMatchObject({ ready: { status: 'False', reason: 'Expired' }, credential: null });
    expect(desired.confirmation.credentialHash).toBeUndefined();
    const after = { ...record, holdsCredential: false, status: desired.confirmation };
    expect(settled(after, { now: end + hour }).desired.ready.reason).toBe('Expired');
  });

  it('says of one of an earlier release who it spoke for', () => {
    expect(record.status.subject).toBeUndefined();
    expect(settled(record, { now: end }).desired.confirmation.subject).toBe('alice');
  });

  it('does not revive it when the signing key is revoked afterwards', () => {
    expect(settled(record, { now: end, published: [] }).desired.ready.reason).toBe('Expired');
  });

  it('is for good: no ttl and no other change of the spec revives it', () => {
    for (const change of [{ ttl: 200 }, { fingerprints: ['v1:another'] }, { rotate: 'again' }])
      expect(settled({ ...record, ...change }, { now: end }).desired.ready).toMatchObject({
        reason: 'Expired',
        message: 'The life of the token has ended: make another.',
      });
  });

  it('is never moved later: a longer ttl, a rotation and any other change keep it', () => {
    for (const change of [{ ttl: 5_000 }, { rotate: 'again' }, { fingerprints: ['v1:another'], ttl: 5_000 }])
      expect(issued({ ...record, ...change })).toMatchObject({ end, keepPrevious: false });
  });

  it('is not moved back after it was moved earlier', () => {
    const shorter = {
      ...record,
      status: { ...record.status, notAfter: created + 60 * second, confirmedTTL: 60 },
    };
    expect(issued(shorter)).toMatchObject({ end: created + 60 * second, ttl: 100 });
  });

  it('shortens at once, and the longer predecessor is dead', () => {
    expect(issued({ ...record, ttl: 60 }, { now: created + 30 * second })).toMatchObject({
      end: created + 60 * second,
      keepPrevious: false,
    });
    expect(settled({ ...record, ttl: 60 }, { now: created + 60 * second }).desired.ready.reason).toBe(
      'Expired',
    );
  });

  it.each([
    ['a declared token', {}, 'commit'],
    ['an ephemeral one', { labels: { [labels.ephemeral]: 'true' } }, 'delete'],
  ])('after the retention: %s', (_, marks, step) => {
    const ended = issuedToken({ spec: { ttl: 100 }, metadata: marks });
    expect(decide(ended, { now: end + limits.expiredRetention }).step).toBe(step);
  });
});

describe('the policy for a token with a parent', () => {
  const parent = liveRecord({ name: 'parent', metadata: {}, status: { observedGeneration: 1 } });
  const keys = [parent];
  const spec = { accessKey: 'parent', ttl: 3_600 };

  it('speaks for the parent, within its life, and remembers its chain', () => {
    const short = liveRecord({ name: 'parent', spec: { user: 'alice', key: 'k'.repeat(30), ttl: 60 } });
    const input = inputOf(token({ spec }), { keys: [short] });
    const issue = issued(input.record, { keys: [short] });
    expect(issue).toMatchObject({ identity: { user: 'alice' }, end: created + 60 * second });
    const { confirmation } = issuedStatus(input, issue, signed);
    expect(confirmation).toMatchObject({ accessKeyUID: short.uid, chain: chainOf([short]) });
  });

  it('is issued again when ttl is raised far enough, with the end counted from the first issue', () => {
    const raised = { ...issuedToken({ spec }, keys), ttl: 7_200 };
    expect(issued(raised, { keys, now: created + hour })).toMatchObject({
      issuedAt: created,
      end: created + 2 * hour,
      cause: 'Confirmed',
    });
  });

  it('keeps the predecessor for the overlap when a longer ttl replaces it', () => {
    const input = inputOf({ ...issuedToken({ spec }, keys), ttl: 7_200 }, { keys });
    const issue = issued(input.record, { keys });
    expect(issue.keepPrevious).toBe(true);
    const { previous } = issuedStatus(input, issue, signed).confirmation;
    expect(previous).toMatchObject({
      serial: 1,
      signingKeyID: 'k1',
      expirationTimestamp: created + 601 * second,
    });
  });

  it('has a new life after a rotation', () => {
    const rotated = { ...issuedToken({ spec }, keys), rotate: 'again' };
    expect(issued(rotated, { keys, now: created + second })).toMatchObject({ end: created + second + hour });
  });

  it('is issued again when the scope of the parent changes', () => {
    const changed = liveRecord({ name: 'parent', spec: { user: 'alice', key: 'k'.repeat(30), scope: {} } });
    expect(issued(issuedToken({ spec }, keys), { keys: [changed] })).toMatchObject({
      cause: 'ChainChanged',
      end: created + hour,
      keepPrevious: false,
    });
  });

  it('is not revived by a change of its parent after its end', () => {
    const changed = liveRecord({ name: 'parent', spec: { user: 'alice', key: 'k'.repeat(30), scope: {} } });
    const { desired } = settled(issuedToken({ spec }, keys), { keys: [changed], now: created + hour });
    expect(desired.ready.reason).toBe('Expired');
  });

  it.each([
    ['is gone', [], 'AccessKeyGone'],
    ['is another object of the same name', [{ ...parent, uid: uidOf('another') }], 'AccessKeyGone'],
  ])('loses the token for good when the parent %s', (_, present, reason) => {
    const { desired } = settled(issuedToken({ spec }, keys), { keys: present });
    expect(desired).toMatchObject({
      ready: { reason },
      credential: null,
      confirmation: { accessKeyUID: parent.uid },
    });
    expect(desired.confirmation.credentialHash).toBeUndefined();
  });

  it('stays ended when a refusal passes', () => {
    const record = issuedToken({ spec }, keys);
    const refused = settled(record, { keys, now: created + second });
    expect(refused.desired.ready.status).toBe('True');
    const unidentified = settled(
      { ...record, identity: { kind: 'user', user: 'bob', groups: [] } },
      { keys },
    );
    expect(unidentified.desired).toMatchObject({ ready: { reason: 'IdentityInvalid' }, credential: null });
    const after = { ...record, holdsCredential: false, status: unidentified.desired.confirmation };
    expect(settled(after, { keys, now: created + hour }).desired.ready.reason).toBe('Expired');
    expect(issued(after, { keys, now: created + hour / 2 })).toMatchObject({ end: created + hour });
  });

  it('keeps the token while the parent is disabled, but says that it does not work', () => {
    const { desired } = settled(issuedToken({ spec }, keys), { keys: [{ ...parent, disabled: true }] });
    expect(desired.ready).toMatchObject({ status: 'False', reason: 'AccessKeyNotLive' });
    expect(desired.credential).toBeUndefined();
  });

  it('does not take a narrow token of an earlier release for one of a cluster that enforces scopes by now', () => {
    const narrow = { ...spec, scope: { rules: [{ cluster: 'web' }] } };
    const record = issuedToken({ spec: narrow }, keys);
    const enforcing = {
      audiences: () => ['https://latchkey.example.com/cluster/web/scoped'],
      unenforcedAudiences: () => ['https://latchkey.example.com/cluster/web'],
    };
    const blocked = { ...inputOf(record, { keys: [{ ...parent, disabled: true }] }), ...enforcing };
    const { confirmation } = stepOf(decideIssued(blocked), 'commit').desired;
    expect(confirmation.audiences).toEqual(['https://latchkey.example.com/cluster/web']);
    const freed = { ...inputOf({ ...record, status: confirmation }, { keys }), ...enforcing };
    expect(decideIssued(freed)).toMatchObject({ step: 'issue', cause: 'Issued' });
  });

  it('has the Secret of a token say that its parent does not work', () => {
    const inSecret = { ...spec, secretRef: { namespace: 'default', name: 'out' } };
    const record = issuedToken({ spec: inSecret }, keys);
    const secret: SecretRecord = {
      ...{ key: 'default/out', namespace: 'default', name: 'out', uid: 's', resourceVersion: '1' },
      ...{ ownerUID: record.uid, serial: 1, purpose: 'credential', state: '', deleting: false },
      hashes: new Map([['token', record.status.credentialHash ?? '']]),
    };
    const blocked = { ...inputOf(record, { keys: [{ ...parent, disabled: true }] }), secret };
    const { secretUpdate } = stepOf(decideIssued(blocked), 'commit');
    expect(secretUpdate?.state).toMatchObject({
      reason: 'AccessKeyNotLive',
      fingerprint: record.status.fingerprint,
    });
  });

  it('issues nothing below a parent that does not work', () => {
    const { desired } = settled(token({ spec, status: { observedGeneration: 1 } }), {
      keys: [{ ...parent, disabled: true }],
    });
    expect(desired).toMatchObject({ ready: { reason: 'AccessKeyNotLive' }, credential: null });
  });
});

describe('the policy for the renewal of a token', () => {
  const parent = liveRecord({ name: 'parent', status: { observedGeneration: 1 } });
  const keys = [parent];
  const spec = { accessKey: 'parent', ttl: 3_600, renewBefore: 600 };
  const record = issuedToken({ spec }, keys);
  const due = created + 3_000 * second;

  it('is due `renewBefore` ahead of the end, and no one is warned', () => {
    expect(settled(record, { keys }).requeueAt).toBe(due);
    expect(settled(record, { keys, now: due - 1 }).desired.expiringSoon).toBeUndefined();
  });

  it('keeps the predecessor valid for the overlap', () => {
    const input = inputOf(record, { keys, now: due });
    const issue = issued(record, { keys, now: due });
    expect(issue).toMatchObject({ cause: 'Renewed', keepPrevious: true, end: due + hour });
    const { previous } = issuedStatus(input, issue, signed).confirmation;
    expect(previous?.expirationTimestamp).toBe(due + 600 * second);
  });

  it('comes late rather than never when the operator was away at the end', () => {
    expect(issued(record, { keys, now: created + 2 * hour })).toMatchObject({
      cause: 'Renewed',
      keepPrevious: false,
    });
  });

  it.each([
    ['without secretRef and renewBefore there is none', { accessKey: 'parent', ttl: 3_600 }, undefined],
    [
      'with secretRef it is due after two thirds',
      { accessKey: 'parent', ttl: 3_600, secretRef: { namespace: 'a', name: 'b' } },
      2_400,
    ],
    [
      '0 turns it off',
      { accessKey: 'parent', ttl: 3_600, renewBefore: 0, secretRef: { namespace: 'a', name: 'b' } },
      undefined,
    ],
    [
      'more than half the life counts as half',
      { accessKey: 'parent', ttl: 3_600, renewBefore: 3_599 },
      1_800,
    ],
  ])('%s', (_, other, seconds) => {
    const object = { ...issuedToken({ spec: other }, keys) };
    const at = seconds === undefined ? created + hour - 1 : created + seconds * second;
    const step = decide(object, { keys, now: at });
    const cause = step.step === 'issue' ? step.cause : undefined;
    expect(cause === 'Renewed').toBe(seconds !== undefined);
    if (seconds !== undefined) {
      const early = decide(object, { keys, now: at - 1 });
      expect(early.step === 'issue' && early.cause === 'Renewed').toBe(false);
    }
  });

  it('does not renew for ever below a parent that ends first', () => {
    const ending = liveRecord({
      name: 'parent',
      spec: { user: 'alice', key: 'k'.repeat(30), ttl: 3_600 },
      status: { observedGeneration: 1 },
    });
    const child = issuedToken({ spec }, [ending]);
    expect(settled(child, { keys: [ending], now: due }).requeueAt).toBe(created + hour);
  });
});

describe('the policy for a token of an owner who has as many as allowed', () => {
  const hasRoom = () => false;

  it('lets a new one wait before anything is signed', () => {
    const step = decideIssued({ ...inputOf(token()), hasRoom });
    expect(step).toMatchObject({ step: 'commit', desired: { ready: { reason: 'QuotaExceeded' } } });
    expect(step).not.toHaveProperty('requeueAt');
  });

  it('leaves alone what was issued, and rotates it', () => {
    const kept = decideIssued({ ...inputOf(issuedToken()), hasRoom });
    expect(kept).toMatchObject({ step: 'commit', desired: { ready: { status: 'True' } } });
    const rotated = { ...issuedToken(), rotate: 'now' };
    expect(decideIssued({ ...inputOf(rotated), hasRoom })).toMatchObject({ step: 'issue' });
  });
});
