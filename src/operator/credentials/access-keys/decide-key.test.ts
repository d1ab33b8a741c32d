import { describe, expect, it } from 'vitest';
import {
  type CredentialParts,
  confirmed,
  created,
  credentialObject,
  liveRecord,
  plainKeyOf,
  recordOf,
  stepOf,
  uidOf,
} from '../../../../test/builders/credential-object.ts';
import { annotations, apiVersion, fieldManager, finalizers, labels, purposes } from '../../../api/names.ts';
import { type SecretState, stateText } from '../../../credentials/credential-secret.ts';
import { credentialHash, keyIDOf } from '../../../credentials/keys/credential-hash.ts';
import { isLive } from '../../../credentials/liveness.ts';
import type { CredentialRecord } from '../../../credentials/record.ts';
import { noSitePolicy } from '../../../credentials/site-policy.ts';
import { Locks } from '../../../platform/locks.ts';
import { toSecretRecord } from '../secret-record.ts';
import { decideKey } from './decide-key.ts';
import type { KeyInput, KeyStep } from './key-steps.ts';

const limits = { activityInterval: 60_000, expiredRetention: 3_600_000 };
const metadata = { finalizers: [finalizers.OwnedAccessKey] };
const second = 1_000;

/** A key with its finalizer; `status` makes it one that was reconciled before. */
const key = (parts: CredentialParts = {}): CredentialRecord =>
  recordOf(credentialObject({ ...parts, metadata: { ...metadata, ...parts.metadata } }));

/** A key whose present spec is confirmed. */
const confirmedKey = (
  parts: CredentialParts = {},
  ancestors: readonly CredentialRecord[] = [],
): CredentialRecord => {
  const object = credentialObject({ ...parts, metadata: { ...metadata, ...parts.metadata } });
  return recordOf(confirmed(object, ancestors));
};

interface Surroundings {
  readonly others?: readonly CredentialRecord[];
  readonly now?: number;
  readonly secret?: ReturnType<typeof secretOf>;
  readonly input?: Partial<KeyInput>;
}

function decide(
  record: CredentialRecord,
  { others = [], now = created + second, secret, input }: Surroundings = {},
): KeyStep {
  const all = [record, ...others];
  return decideKey({
    record,
    lookup: (name) => all.find((other) => other.name === name),
    credentialByUID: (uid) => all.find((other) => other.uid === uid),
    claimants: (hash) =>
      all.filter(({ specKey, status }) => specKey?.hash === hash || status.credentialHash === hash),
    ...(secret === undefined ? {} : { secret }),
    ownSecrets: secret === undefined ? [] : [secret],
    now,
    trustedSince: 0,
    isUnguarded: false,
    locks: new Locks(),
    sitePolicy: noSitePolicy,
    hasRoom: () => true,
    limits,
    ...input,
  });
}

const settled = (record: CredentialRecord, surroundings: Surroundings = {}) =>
  stepOf(decide(record, surroundings), 'commit');

function secretOf(record: CredentialRecord, content: string, serial: number, name = 'out') {
  const secret = toSecretRecord({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      namespace: 'default',
      name,
      uid: uidOf(`secret ${name}`),
      resourceVersion: '3',
      creationTimestamp: '2026-11-21T10:00:00Z',
      ownerReferences: [{ uid: record.uid, apiVersion }],
      labels: {
        [labels.ownerUID]: record.uid,
        [labels.serial]: String(serial),
        [labels.purpose]: purposes.credential,
      },
    },
    data: { key: Buffer.from(content).toString('base64') },
  } as never);
  if (secret === undefined) throw new Error('the builder makes Secrets of ours');
  return secret;
}

describe('the policy for a new access key', () => {
  it('adds the finalizer before anything else', () => {
    expect(decide(recordOf(credentialObject({ spec: { user: 'alice' } })))).toEqual({ step: 'addFinalizer' });
  });

  it('takes login data out of the spec before it confirms anything', () => {
    const spec = { user: 'alice', identity: { connectorData: 'of the connector' } };
    expect(decide(key({ spec }))).toEqual({ step: 'moveLoginSecrets' });
  });

  it('generates a key into spec.key when the spec has neither a key nor a Secret', () => {
    expect(decide(key({ spec: { user: 'alice' } }))).toEqual({ step: 'generateIntoSpec' });
    expect(decide(key({ spec: { user: 'alice', key: '' } }))).toEqual({ step: 'generateIntoSpec' });
  });

  it('writes the key to the Secret that spec.secretRef names, with the next serial', () => {
    const spec = { user: 'alice', secretRef: { namespace: 'default', name: 'out' } };
    const { review } = stepOf(decide(key({ spec })), 'review');
    expect(review.asker.user).toBe('alice');
    const input = { reviewed: review };
    expect(decide(key({ spec }), { input })).toMatchObject({ step: 'writeSecret', serial: 1 });
    expect(decide(key({ spec, status: { serial: 4 } }), { input })).toMatchObject({
      step: 'writeSecret',
      serial: 5,
    });
  });

  it('waits until the authority is known that its Secret is to hold, and refuses nothing meanwhile', () => {
    const spec = { user: 'alice', secretRef: { namespace: 'default', name: 'out' } };
    const { review } = stepOf(decide(key({ spec })), 'review');
    const input = { reviewed: review, layout: 'pending' } as const;
    expect(stepOf(decide(key({ spec }), { input }), 'wait').requeueAt).toBeGreaterThan(created);
  });

  it('is reviewed again when the key above it has got a group meanwhile', () => {
    const parent = (groups: readonly string[]) =>
      recordOf(
        confirmed(
          credentialObject({
            name: 'parent',
            spec: { user: 'alice', groups, key: plainKeyOf('parent') },
            status: { observedGeneration: 1 },
          }),
        ),
      );
    const child = key({ spec: { accessKey: 'parent', key: plainKeyOf('ci') } });
    const { review } = stepOf(decide(child, { others: [parent(['ops'])] }), 'review');
    const input = { reviewed: review };
    expect(decide(child, { others: [parent(['ops'])], input }).step).toBe('commit');
    const later = stepOf(decide(child, { others: [parent(['ops', 'admins'])], input }), 'review');
    expect(later.review.questions).toContainEqual(expect.objectContaining({ name: 'admins' }));
  });

  it.each([
    ['Plain', { user: 'alice', key: plainKeyOf('ci') }],
    ['Hash', { user: 'alice', key: `sha256:${credentialHash(plainKeyOf('ci'))}` }],
  ])('confirms a supplied key in the form %s', (source, spec) => {
    const { desired } = settled(key({ spec }));
    expect(desired.ready).toMatchObject({ status: 'True', reason: 'Issued' });
    expect(desired.confirmation).toMatchObject({
      credentialHash: credentialHash(plainKeyOf('ci')),
      keyID: keyIDOf(credentialHash(plainKeyOf('ci'))),
      keySource: source,
      serial: 1,
      confirmedTTL: 0,
      active: true,
    });
  });

  it('calls a plain key that the operator itself wrote Generated, also when a crash lost the status', () => {
    const managedFields = [
      {
        manager: 'latchkey-operator',
        operation: 'Update',
        fieldsType: 'FieldsV1',
        fieldsV1: { 'f:spec': { 'f:key': {} } },
      },
    ];
    const { desired } = settled(key({ metadata: { managedFields } }));
    expect(desired.confirmation.keySource).toBe('Generated');
  });

  it('confirms exactly what makes the key live for every verifier', () => {
    const object = credentialObject({ metadata });
    const { confirmation } = settled(recordOf(object)).desired;
    const record = { ...recordOf(object), status: confirmation };
    expect(isLive(record, () => undefined, created + second, limits)).toMatchObject({ live: true });
  });
});

describe('the policy for a confirmed access key', () => {
  it('changes nothing that is right', () => {
    const record = confirmedKey();
    const { desired } = settled(record);
    expect(desired.confirmation).toMatchObject({ serial: 1, credentialHash: record.status.credentialHash });
    expect(desired.rotationNotPossible).toBeUndefined();
  });

  it('keeps the credential and the serial when only the scope changes', () => {
    const before = confirmedKey();
    const after = key({
      spec: { user: 'alice', key: plainKeyOf('ci'), scope: { projects: [{ project: 'a' }] } },
      status: { ...credentialObjectStatus(before) },
    });
    const { desired } = settled(after);
    expect(desired.confirmation.serial).toBe(1);
    expect(desired.confirmation.fingerprint).toBe(after.fingerprints[0]);
    expect(desired.confirmation.fingerprint).not.toBe(before.fingerprints[0]);
  });

  it('gives another key the next serial', () => {
    const before = confirmedKey();
    const other = 'another-plain-key-of-somebody';
    const after = key({ spec: { user: 'alice', key: other }, status: credentialObjectStatus(before) });
    expect(settled(after).desired.confirmation).toMatchObject({
      serial: 2,
      credentialHash: credentialHash(other),
    });
  });

  it('keeps serial and hash when the plain form is replaced by its hash', () => {
    const before = confirmedKey();
    const spec = { user: 'alice', key: `sha256:${credentialHash(plainKeyOf('ci'))}` };
    const { desired } = settled(key({ spec, status: credentialObjectStatus(before) }));
    expect(desired.confirmation).toMatchObject({ serial: 1, keySource: 'Hash' });
  });

  it('generates a new key when a supplied one is dropped', () => {
    const status = credentialObjectStatus(confirmedKey());
    expect(decide(key({ spec: { user: 'alice' }, status }))).toEqual({ step: 'generateIntoSpec' });
  });
});

describe('the policy for the rotation of an access key', () => {
  const asked = { [annotations.rotate]: 'tuesday' };

  it('replaces a generated key', () => {
    const status = { ...credentialObjectStatus(confirmedKey()), keySource: 'Generated' };
    expect(decide(key({ annotations: asked, status }))).toEqual({ step: 'generateIntoSpec' });
  });

  it('observes the annotation with the new key, so that it rotates once', () => {
    const status = { ...credentialObjectStatus(confirmedKey()), keySource: 'Generated' };
    const spec = { user: 'alice', key: 'the-key-that-was-generated-anew' };
    const managedFields = [{ manager: fieldManager, fieldsV1: { 'f:spec': { 'f:key': {} } } }];
    const step = settled(key({ annotations: asked, spec, status, metadata: { managedFields } }));
    expect(step.desired.confirmation).toMatchObject({ serial: 2, observedRotation: 'tuesday' });
    expect(step.successor).toBe('Rotated');
  });

  it('is none where somebody supplies another key, though the annotation asks for one', () => {
    const status = credentialObjectStatus(confirmedKey());
    const spec = { user: 'alice', key: 'another-key-that-was-supplied' };
    expect(settled(key({ annotations: asked, spec, status })).successor).toBe('Issued');
  });

  it('does not replace a supplied key, and says so for as long as the annotation asks', () => {
    const step = settled(confirmedKey({ annotations: asked }));
    expect(step.desired.rotationNotPossible).toMatchObject({ reason: 'RotationNotPossible' });
    expect(step.desired.confirmation).toMatchObject({ serial: 1 });
    expect(step.desired.ready.status).toBe('True');
  });

  it('does not rotate for an annotation that stood there from the beginning', () => {
    const { desired } = settled(key({ annotations: asked }));
    expect(desired.rotationNotPossible).toBeUndefined();
    expect(desired.confirmation.observedRotation).toBe('tuesday');
  });

  it('writes a new key to the Secret', () => {
    const spec = { user: 'alice', secretRef: { namespace: 'default', name: 'out' } };
    const record = confirmedKey({ annotations: asked, spec });
    expect(decide(record, { secret: secretOf(record, `credential of ${record.uid}`, 1) })).toMatchObject({
      step: 'writeSecret',
      serial: 2,
    });
  });
});

describe('the policy for the Secret of an access key', () => {
  const spec = { user: 'alice', secretRef: { namespace: 'default', name: 'out' } };
  const record = confirmedKey({ spec });
  const content = `credential of ${record.uid}`;

  it('is content with the Secret that it wrote', () => {
    expect(settled(record, { secret: secretOf(record, content, 1) }).desired.confirmation.serial).toBe(1);
  });

  it.each([
    ['is lost', undefined],
    ['holds another key', secretOf(record, 'planted by somebody else', 1)],
    ['carries another serial', secretOf(record, content, 2)],
    ['was left by a crash before the status was written', secretOf(record, 'never confirmed', 2)],
  ])('makes a new key when the Secret %s', (_, secret) => {
    expect(decide(record, secret === undefined ? {} : { secret })).toMatchObject({
      step: 'writeSecret',
      serial: 2,
    });
  });

  it('says that nothing changes by itself while the key is disabled: who waits for it is told', () => {
    const own = { user: 'alice', key: plainKeyOf('ci') };
    const { desired } = settled(confirmedKey({ spec: { ...own, disabled: true } }));
    expect(desired.stalled).toEqual({ reason: 'Disabled', message: desired.ready.message });
    expect(settled(confirmedKey({ spec: own })).desired).not.toHaveProperty('stalled');
  });

  it('has a new Secret say what the status is going to say', () => {
    const spec = {
      user: 'alice',
      ttl: 3600,
      disabled: true,
      secretRef: { namespace: 'default', name: 'out' },
    };
    const fresh = confirmedKey({ spec });
    expect(stepOf(decide(fresh), 'writeSecret').state).toEqual({
      reason: 'Disabled',
      expires: created + 3_600_000,
      fingerprint: fresh.fingerprints[0],
    });
  });

  it.each([
    ['is disabled', { disabled: true }, 'Disabled', {}],
    ['has another end', { ttl: 3600 }, 'Issued', { expires: created + 3_600_000 }],
  ])('has the Secret say it when the key %s, and only then', (_, change, reason, end) => {
    const changed = confirmedKey({ spec: { ...spec, ...change } });
    const secret = secretOf(changed, `credential of ${changed.uid}`, 1);
    const state = { reason, fingerprint: changed.fingerprints[0], ...end };
    expect(settled(changed, { secret }).secretUpdate).toMatchObject({ secret, state });
    const said = { ...secret, state: stateText(state as SecretState) };
    expect(settled(changed, { secret: said }).secretUpdate).toBeUndefined();
  });

  it('says nothing on a Secret that is going or belongs to another', () => {
    const secret = secretOf(record, `credential of ${record.uid}`, 1);
    expect(settled(record, { secret: { ...secret, deleting: true } }).secretUpdate).toBeUndefined();
  });

  it('confirms what it has just written', () => {
    const written = { hash: credentialHash('fresh'), serial: 2 };
    const { desired } = settled(record, { input: { written } });
    expect(desired.confirmation).toMatchObject({
      credentialHash: written.hash,
      serial: 2,
      keySource: 'Secret',
    });
  });

  it('grants nothing when the Secret belongs to somebody else', () => {
    const secretProblem = { reason: 'SecretConflict', message: 'not ours' } as const;
    const { desired } = settled(record, { input: { secretProblem } });
    expect(desired.ready).toMatchObject({ status: 'False', reason: 'SecretConflict' });
    expect(desired.confirmation.credentialHash).toBeUndefined();
    expect(desired.stalled).toBeDefined();
  });

  it('deletes the Secrets at places that the spec does not name any more', () => {
    const old = secretOf(record, content, 1, 'old-place');
    const present = secretOf(record, content, 1);
    const { staleSecrets } = settled(record, { secret: present, input: { ownSecrets: [old, present] } });
    expect(staleSecrets).toEqual([old]);
  });
});

describe('the policy for a key that a limited credential changed beyond its limits', () => {
  const beyond = { annotations: { [annotations.changedBeyondLimits]: 'laptop/0b1c' } };
  const scope = { roles: [{ role: 'platform-cli' }] };

  it.each([
    ['takes its scope off', {}],
    ['makes its life longer', { scope, ttl: 7200 }],
    ['changes nothing any more', { scope, ttl: 60 }],
  ])('grants nothing where that %s, and keeps what was confirmed', (_, spec) => {
    const before = confirmedKey({ spec: { user: 'alice', key: plainKeyOf('ci'), scope, ttl: 60 } });
    const changed = key({ ...beyond, spec: { user: 'alice', key: plainKeyOf('ci'), ...spec } });
    const { desired } = settled({ ...changed, status: before.status });
    expect(desired.ready).toMatchObject({ status: 'False', reason: 'ChangedBeyondLimits' });
    expect(desired.confirmation).toMatchObject({ fingerprint: before.status.fingerprint, serial: 1 });
    expect(desired.confirmation).not.toHaveProperty('credentialHash');
  });
});

describe('the policy for a key that several objects claim', () => {
  const spec = { user: 'alice', key: plainKeyOf('shared') };
  const owner = confirmedKey({ name: 'owner', spec });
  const later = key({ name: 'later', spec });

  describe('that comes from a backup', () => {
    const madeBy = (origin: string): CredentialParts => ({
      name: 'again',
      spec,
      annotations: { [annotations.origin]: origin },
    });

    it.each([
      ['that was supplied', spec.key],
      ['that stands there as its hash', `sha256:${credentialHash(spec.key)}`],
    ])('is refused with what to do, a key %s', (_, text) => {
      const { ready, stalled } = settled(
        key({ ...madeBy('restored'), spec: { ...spec, key: text } }),
      ).desired;
      expect([ready.reason, stalled?.reason]).toEqual(['RestoredCredential', 'RestoredCredential']);
      expect(ready.message).toContain('kubectl annotate oak/again management.platform.sh/origin-');
    });

    it('is refused too where it is a trust, which has no key', () => {
      const exchange = { tokens: [{ issuer: 'https://ci.example.com', claims: { sub: 'shop' } }] };
      const reasonOf = (origin: string) =>
        settled(key({ ...madeBy(origin), spec: { user: 'alice', exchange } })).desired.ready.reason;
      expect([reasonOf('restored'), reasonOf('created')]).toEqual(['RestoredCredential', 'Issued']);
    });

    it('is accepted where its object was made new', () => {
      expect(settled(key(madeBy('created'))).desired.ready.reason).toBe('Issued');
    });

    it('stays what it is where it was confirmed: an annotation takes no confirmation away', () => {
      expect(settled(confirmedKey(madeBy('restored'))).desired.ready.status).toBe('True');
    });
  });

  it('refuses a later claim, and the owner keeps the key', () => {
    expect(settled(later, { others: [owner] }).desired.ready.reason).toBe('DuplicateKey');
    expect(settled(owner, { others: [later] }).desired.ready.status).toBe('True');
  });

  it('refuses both of two claims that come at the same time', () => {
    const one = key({ name: 'one', spec });
    const two = key({ name: 'two', spec });
    expect(settled(one, { others: [two] }).desired.ready.reason).toBe('DuplicateKey');
    expect(settled(two, { others: [one] }).desired.ready.reason).toBe('DuplicateKey');
  });

  /** Builds a key whose status is that after a refusal. */
  const refusedBefore = (name: string, others: readonly CredentialRecord[]): CredentialRecord => {
    const { desired } = settled(key({ name, spec }), { others });
    const { reason, message } = desired.ready;
    return key({
      name,
      spec,
      status: {
        keyID: desired.confirmation.keyID,
        conditions: [{ type: 'Ready', status: 'False', reason, message, lastTransitionTime: '' }],
      },
    });
  };

  it('gives the key to its owner who creates it again, whatever claims were refused meanwhile', () => {
    const claim = refusedBefore('claim', [owner]);
    const again = key({ name: 'owner again', spec });
    expect(settled(again, { others: [claim] }).desired.ready.status).toBe('True');
    expect(settled(claim, { others: [again] }).desired.ready.reason).toBe('DuplicateKey');
  });

  it('gives the key back to its owner who had another one meanwhile', () => {
    const claim = refusedBefore('claim', [owner]);
    const back = key({
      name: 'owner',
      spec,
      status: {
        ...credentialObjectStatus(
          confirmedKey({ name: 'owner', spec: { ...spec, key: plainKeyOf('other') } }),
        ),
      },
    });
    expect(settled(back, { others: [claim] }).desired.ready.status).toBe('True');
  });

  it('gives the key to no one after two claims came at the same time', () => {
    const one = refusedBefore('one', [key({ name: 'two', spec })]);
    const third = key({ name: 'third', spec });
    expect(settled(third, { others: [one] }).desired.ready.reason).toBe('DuplicateKey');
    expect(settled(one, { others: [third] }).desired.ready.reason).toBe('DuplicateKey');
  });

  it('counts a claim that was refused for another key', () => {
    const claim = refusedBefore('claim', [owner]);
    const changed = { ...claim, status: { ...claim.status, keyID: keyIDOf('0'.repeat(64)) } };
    expect(settled(key({ name: 'new', spec }), { others: [changed] }).desired.ready.reason).toBe(
      'DuplicateKey',
    );
  });

  it('refuses an older object that changes to the hash of another', () => {
    const older = key({
      name: 'older',
      spec,
      status: credentialObjectStatus(confirmedKey({ name: 'older' })),
    });
    const { desired } = settled(older, { others: [owner] });
    expect(desired.ready.reason).toBe('DuplicateKey');
    expect(desired.confirmation.credentialHash).toBeUndefined();
  });

  it('goes on refusing after the owner is gone, until the key changes', () => {
    const keyID = keyIDOf(credentialHash(plainKeyOf('shared')));
    const conditions = [
      { type: 'Ready', status: 'False', reason: 'DuplicateKey', message: '', lastTransitionTime: '' },
    ];
    const refused = key({ name: 'later', spec, status: { keyID, conditions } });
    expect(settled(refused).desired.ready.reason).toBe('DuplicateKey');
    const changed = key({
      name: 'later',
      spec: { ...spec, key: plainKeyOf('own') },
      status: { keyID, conditions },
    });
    expect(settled(changed).desired.ready.status).toBe('True');
  });

  it('does not forget it while a parent is refused for a while', () => {
    const keyID = keyIDOf(credentialHash(plainKeyOf('shared')));
    const conditions = [
      { type: 'Ready', status: 'False', reason: 'DuplicateKey', message: '', lastTransitionTime: '' },
    ];
    const child = { accessKey: 'not there any more', key: plainKeyOf('shared') };
    const refused = key({ name: 'later', spec: child, status: { keyID, conditions, observedGeneration: 1 } });
    expect(settled(refused).desired).toMatchObject({
      ready: { reason: 'DuplicateKey' },
      confirmation: { keyID },
    });
  });

  it.each([
    ['a token', { credentialHash: credentialHash(plainKeyOf('shared')) }],
    [
      'the predecessor of a token',
      {
        previous: {
          credentialHash: credentialHash(plainKeyOf('shared')),
          serial: 1,
          expirationTimestamp: '2026-11-21T10:10:00Z',
        },
      },
    ],
  ])('finds %s with the same hash', (_, status) => {
    const token = recordOf(credentialObject({ kind: 'DirectClusterEndpointToken', name: 'token', status }));
    const claim = key({ name: 'later', spec: { user: 'bob', key: plainKeyOf('shared') } });
    const claimants = () => [claim, token];
    expect(settled(claim, { input: { claimants } }).desired.ready).toMatchObject({
      reason: 'DuplicateKey',
      message: 'Another credential has the same key: set another spec.key here.',
    });
  });

  it('finds the hash form of a plain key', () => {
    const hash = key({
      name: 'hash',
      spec: { user: 'bob', key: `sha256:${credentialHash(plainKeyOf('shared'))}` },
    });
    expect(settled(hash, { others: [owner] }).desired.ready.reason).toBe('DuplicateKey');
  });
});

describe('the policy for the namespaces that a key allows', () => {
  const spec = { user: 'alice', key: plainKeyOf('ci'), allowedNamespaces: ['p-red', 'p-blue'] };
  const red = { name: 'p-red', uid: 'uid-of-red' };

  it('pins those that are not pinned yet, and what did not exist then stays without a UID', () => {
    const record = key({ spec, status: { allowedNamespaces: [red] } });
    expect(decide(record)).toEqual({ step: 'pinNamespaces', names: ['p-blue'] });
    const allowedNamespaces = [red, { name: 'p-blue' }];
    const { desired } = settled(key({ spec, status: { allowedNamespaces } }));
    expect(desired.confirmation.allowedNamespaces).toEqual(allowedNamespaces);
  });

  it.each<[string, Partial<KeyInput>, object]>([
    ['has no room', { hasRoom: () => false }, {}],
    ['has the key of another', { claimants: () => [key({ name: 'other', spec })] }, {}],
    ['is asked about first', {}, { user: 'bob' }],
    ['waits for its parent', {}, { accessKey: 'missing', user: undefined }],
    ['cannot be used', {}, { key: 'too short' }],
  ])('pins them first where the key %s', (_, input, change) => {
    const record = key({ spec: { ...spec, ...change } });
    expect(decide(record, { input })).toEqual({ step: 'pinNamespaces', names: ['p-red', 'p-blue'] });
    const pinned = key({
      spec: { ...spec, ...change },
      status: { allowedNamespaces: [red, { name: 'p-blue' }] },
    });
    const next = decide(pinned, { input });
    if (next.step === 'commit') expect(next.desired.ready.status).toBe('False');
    else expect(next.step).toBe('review');
  });

  it('pins nothing on the word of someone whose key it is not, and forgets nothing', () => {
    const changedBy = (user: string) => ({
      annotations: { [annotations.changedBy]: user, [annotations.changedByGroups]: '[]' },
    });
    const status = { allowedNamespaces: [red] };
    const { desired } = settled(key({ spec, status, ...changedBy('mallory') }));
    expect(desired.ready.reason).toBe('ChangeNotAllowed');
    expect(desired.confirmation.allowedNamespaces).toEqual([red]);
    expect(decide(key({ spec, status, ...changedBy('alice') })).step).toBe('pinNamespaces');
    const unguarded = { input: { isUnguarded: true } };
    const unknown = settled(key({ spec, status }), unguarded);
    expect(unknown.desired.ready.reason).toBe('RequesterUnknown');
    // Of a key that is refused for itself, too: the next leader waits for it.
    const malformed = settled(key({ spec: { ...spec, key: 'short' }, status }), unguarded);
    expect(malformed.desired.ready.reason).toBe('RequesterUnknown');
    expect(unknown.desired.confirmation.allowedNamespaces).toEqual([red]);
  });

  it('forgets a pin when the name is taken out', () => {
    const pinned = { ...spec, allowedNamespaces: ['p-red'] };
    const record = key({ spec: pinned, status: { allowedNamespaces: [red, { name: 'p-blue', uid: 'b' }] } });
    expect(settled(record).desired.confirmation.allowedNamespaces).toEqual([red]);
    const none = key({ spec: { ...spec, allowedNamespaces: [] }, status: { allowedNamespaces: [red] } });
    expect(settled(none).desired.confirmation.allowedNamespaces).toBeUndefined();
  });

  it('does not forget a pin while the key is refused', () => {
    const refused = { ...spec, key: 'too short', allowedNamespaces: ['p-red'] };
    const record = key({ spec: refused, status: { allowedNamespaces: [red] } });
    expect(settled(record).desired.confirmation.allowedNamespaces).toEqual([red]);
  });
});

describe('the policy for the end of an access key', () => {
  const spec = { user: 'alice', key: plainKeyOf('ci'), ttl: 100 };
  const end = created + 100 * second;

  it('looks again when the warning is due, then at the end', () => {
    const record = confirmedKey({ spec });
    expect(settled(record).requeueAt).toBe(created + 80 * second);
    const soon = settled(record, { now: created + 80 * second });
    expect(soon.desired.expiringSoon).toMatchObject({ reason: 'ExpiringSoon' });
    expect(soon.requeueAt).toBe(end);
  });

  it('disables the key at its end, and then says so', () => {
    expect(decide(confirmedKey({ spec }), { now: end })).toEqual({ step: 'disable' });
    const disabled = confirmedKey({
      spec: { ...spec, disabled: true },
      metadata: { managedFields: owned('latchkey-operator') },
    });
    const { desired } = settled(disabled, { now: end });
    expect(desired.ready).toMatchObject({ status: 'False', reason: 'Expired' });
    expect(desired.confirmation).toMatchObject({ disabledByExpiry: 1, active: false });
  });

  it('does not touch `disabled` when another field manager owns it', () => {
    const record = confirmedKey({
      spec: { ...spec, disabled: false },
      metadata: { managedFields: owned('argocd') },
    });
    expect(settled(record, { now: end }).desired.ready.reason).toBe('Expired');
  });

  it('takes back what it set when ttl gives the key life again', () => {
    const record = confirmedKey({
      spec: { ...spec, ttl: 1_000, disabled: true },
      metadata: { managedFields: owned('latchkey-operator') },
    });
    expect(decide(record, { now: end })).toEqual({ step: 'enable' });
  });

  it('does not take back what a person set', () => {
    const record = confirmedKey({
      spec: { ...spec, ttl: 1_000, disabled: true },
      metadata: { managedFields: owned('kubectl-edit') },
    });
    expect(settled(record, { now: end }).desired.ready.reason).toBe('Disabled');
  });

  it.each([
    ['a declared key', {}, {}, 'commit'],
    ['a key of type Login', { type: 'Login' }, {}, 'delete'],
    ['an ephemeral key', {}, { labels: { [labels.ephemeral]: 'true' } }, 'delete'],
  ])('after the retention %s: %s', (_, extra, marks, step) => {
    const record = confirmedKey({
      spec: { ...spec, ...extra, disabled: true },
      metadata: { ...marks, managedFields: owned('latchkey-operator') },
    });
    expect(decide(record, { now: end + limits.expiredRetention }).step).toBe(step);
    expect(decide(record, { now: end + limits.expiredRetention - 1 }).step).toBe('commit');
  });

  it('acts on an idle end one interval after every verifier refuses, and counts from the last activity', () => {
    const idle = { ...spec, ttlAfterLastActivity: true };
    const lastActivity = new Date(created + 50 * second).toISOString();
    const record = confirmedKey({ spec: idle, status: { lastActivity } });
    const verifiersRefuse = created + 50 * second + 100 * second + limits.activityInterval;
    expect(decide(record, { now: verifiersRefuse + limits.activityInterval - 1 }).step).toBe('commit');
    expect(decide(record, { now: verifiersRefuse + limits.activityInterval }).step).toBe('disable');
  });
});

describe('the policy for an access key with a parent', () => {
  const parent = liveRecord({ name: 'parent', metadata: { ...metadata }, status: { observedGeneration: 1 } });
  const spec = { accessKey: 'parent', key: plainKeyOf('child') };

  it.each([
    ['came of a token', { 'management.platform.sh/exchanged-until': '2026-11-21T10:05:00Z' }, 'delete'],
    ['was made by a POST', {}, 'disable'],
  ])('that %s has this at its end: %j %s', (_, annotations, step) => {
    const marks = { labels: { [labels.ephemeral]: 'true' } };
    const child = confirmedKey({ name: 'child', spec: { ...spec, ttl: 60 }, annotations, metadata: marks }, [
      parent,
    ]);
    expect(decide(child, { others: [parent], now: created + 60 * second }).step).toBe(step);
  });

  it('speaks for the parent and pins its UID', () => {
    const { desired } = settled(key({ name: 'child', spec }), { others: [parent] });
    expect(desired.ready.status).toBe('True');
    expect(desired.confirmation.accessKeyUID).toBe(parent.uid);
  });

  it.each([
    ['does not exist yet', [], {}, 'AccessKeyNotFound'],
    ['was deleted', [], { accessKeyUID: uidOf('parent') }, 'AccessKeyGone'],
    [
      'is another object of the same name',
      [parent],
      { accessKeyUID: uidOf('an earlier parent') },
      'AccessKeyGone',
    ],
    [
      'is being deleted',
      [{ ...parent, deleted: created }],
      { accessKeyUID: uidOf('parent') },
      'AccessKeyGone',
    ],
  ])('grants nothing when the parent %s', (_, others, status, reason) => {
    const { desired } = settled(key({ name: 'child', spec, status: { observedGeneration: 1, ...status } }), {
      others,
    });
    expect(desired.ready).toMatchObject({ status: 'False', reason });
    expect(desired.confirmation.credentialHash).toBeUndefined();
  });

  it('refuses a parent that the requester neither speaks for nor made', () => {
    const mallory = { [annotations.requester]: 'mallory' };
    const { desired } = settled(key({ name: 'child', spec, annotations: mallory }), { others: [parent] });
    expect(desired.ready.reason).toBe('AccessKeyNotAllowed');
  });

  it('refuses another identity than that of the parent', () => {
    const { desired } = settled(key({ name: 'child', spec: { ...spec, user: 'bob' } }), { others: [parent] });
    expect(desired.ready.reason).toBe('IdentityInvalid');
  });

  it.each([
    ['was applied together with it', { observedGeneration: -1 }],
    ['was edited just now', { observedGeneration: 0 }],
  ])('waits without a word for a parent that %s', (_, status) => {
    const fresh = key({ name: 'parent', status });
    const child = key({ name: 'child', spec });
    expect(decide(child, { others: [fresh] }).step).toBe('wait');
  });

  it('says so while the parent does not work, and keeps what was confirmed', () => {
    const child = confirmedKey({ name: 'child', spec, status: { observedGeneration: 1 } }, [parent]);
    const { desired } = settled(child, { others: [{ ...parent, disabled: true }] });
    expect(desired.ready).toMatchObject({ status: 'False', reason: 'AccessKeyNotLive' });
    expect(desired.confirmation.credentialHash).toBe(child.status.credentialHash);
  });
});

function owned(manager: string) {
  const fieldsV1 = { 'f:spec': { 'f:disabled': {} } };
  return [{ manager, operation: 'Update', apiVersion, fieldsType: 'FieldsV1', fieldsV1 }];
}

/** The status of a record as the API server would store it. */
function credentialObjectStatus({ status }: CredentialRecord): Record<string, unknown> {
  const { credentialHash: hash, fingerprint, serial, confirmedTTL } = status;
  return { credentialHash: hash, fingerprint, serial, confirmedTTL, observedGeneration: 1 };
}

describe('the policy for a key of an owner who has as many as allowed', () => {
  const input = { hasRoom: () => false };

  it.each([
    ['without a key of its own', { spec: { user: 'alice' } }],
    ['that brings its key', {}],
    ['for a Secret', { spec: { user: 'alice', secretRef: { namespace: 'web', name: 'ci' } } }],
  ])('lets a new one %s wait before anything is made', (_, parts) => {
    const step = decide(key(parts), { input });
    expect(step).toMatchObject({ step: 'commit', desired: { ready: { reason: 'QuotaExceeded' } } });
    expect(step).not.toHaveProperty('requeueAt');
  });

  it('leaves alone what is confirmed', () => {
    const step = decide(confirmedKey(), { input });
    expect(step).toMatchObject({ step: 'commit', desired: { ready: { status: 'True' } } });
  });

  it.each([
    ['that has ended stays ended', 1, 'Expired'],
    ['that is to live again waits', 86_400, 'QuotaExceeded'],
  ])('says of one %s', (_, ttl, reason) => {
    const conditions = [{ type: 'Ready', status: 'False', reason: 'Expired' }];
    const record = confirmedKey({
      spec: { user: 'alice', key: plainKeyOf('ci'), disabled: true, ttl },
      status: { conditions },
    });
    const step = decide(record, { input, now: created + 10 * second });
    expect(step).toMatchObject({ step: 'commit', desired: { ready: { reason } } });
  });
});
