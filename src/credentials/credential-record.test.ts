import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  confirmed,
  created,
  credentialObject,
  liveRecord,
  recordOf,
  uidOf,
} from '../../test/builders/credential-object.ts';
import { annotations, labels } from '../api/names.ts';
import { toCredentialRecord } from './credential-record.ts';
import { computeFingerprints } from './fingerprint.ts';
import { credentialHash } from './keys/credential-hash.ts';
import type { CredentialKind } from './record.ts';

const kinds: readonly CredentialKind[] = [
  'OwnedAccessKey',
  'DirectClusterEndpointToken',
  'VirtualClusterInstanceKubeConfig',
];
const key = 'some-key-of-twenty-characters';
const projected = (spec: Record<string, unknown>) => recordOf(credentialObject({ spec }));

describe('toCredentialRecord', () => {
  it('projects an access key', () => {
    const spec = {
      user: 'alice',
      groups: ['dev'],
      key,
      displayName: 'CI',
      description: 'for the pipeline',
      type: 'User',
      disabled: false,
      ttl: 3600,
      ttlAfterLastActivity: true,
      scope: { projects: [{ project: 'p' }] },
      allowedNamespaces: ['p-one'],
    };
    const metadata = {
      finalizers: ['management.platform.sh/ownedaccesskey'],
      deletionTimestamp: '2026-11-21T11:00:00Z',
      labels: { [labels.ephemeral]: 'true' },
      managedFields: [
        { manager: 'latchkey-operator', fieldsV1: { 'f:spec': { 'f:key': {}, 'f:disabled': {} } } },
      ],
    };
    const object = credentialObject({
      spec,
      metadata,
      annotations: { [annotations.rotate]: 'now' },
      status: {
        credentialHash: credentialHash(key),
        fingerprint: 'v1:x',
        serial: 3,
        keySource: 'Plain',
        lastActivity: '2026-11-21T10:30:00Z',
        observedGeneration: 4,
        conditions: [{ type: 'Ready', status: 'True' }],
      },
    });
    expect(
      recordOf({
        ...object,
        metadata: {
          ...object.metadata,
          annotations: {
            ...(object.metadata['annotations'] as object),
            [annotations.rotate]: 'now',
            [annotations.createdWith]: 'root/1',
            [annotations.origin]: 'restored',
          },
        },
      }),
    ).toEqual({
      kind: 'OwnedAccessKey',
      key: 'ci',
      name: 'ci',
      uid: uidOf('ci'),
      resourceVersion: '7',
      generation: 1,
      created,
      deleted: created + 3_600_000,
      finalizers: ['management.platform.sh/ownedaccesskey'],
      requester: { user: 'alice', groups: ['dev'] },
      createdWith: 'root/1',
      isBeyondLimits: false,
      rotate: 'now',
      isRestored: true,
      ephemeral: true,
      fingerprints: computeFingerprints(spec),
      specKey: { form: 'Plain', hash: credentialHash(key), wellFormed: true },
      identity: { kind: 'user', user: 'alice', groups: ['dev'] },
      type: 'User',
      disabled: false,
      disabledOwner: 'operator',
      keyWrittenByOperator: true,
      ttl: 3600,
      ttlAfterLastActivity: true,
      scope: { projects: [{ project: 'p' }] },
      allowPlatformCli: false,
      allowedNamespaces: ['p-one'],
      holdsLoginSecrets: false,
      holdsCredential: false,
      status: {
        credentialHash: credentialHash(key),
        fingerprint: 'v1:x',
        serial: 3,
        keySource: 'Plain',
        lastActivity: created + 1_800_000,
      },
      observedGeneration: 4,
      conditions: [{ type: 'Ready', status: 'True' }],
    });
  });

  it('projects a token with everything that a parent adds', () => {
    const spec = {
      ttl: 60,
      rules: [{ verbs: ['get'] }],
      allowPlatformCli: true,
      accessKey: 'root',
      renewBefore: 20,
      secretRef: { namespace: 'n', name: 's', key: '' },
    };
    const previous = {
      credentialHash: credentialHash('old'),
      serial: 1,
      expirationTimestamp: '2026-11-21T10:10:00Z',
      signingKeyID: 'kid',
    };
    const object = credentialObject({
      kind: 'DirectClusterEndpointToken',
      spec,
      status: { token: 'eyJ', previous, chain: 'c', accessKeyUID: 'u' },
    });
    expect(recordOf(object)).toMatchObject({
      accessKey: 'root',
      allowPlatformCli: true,
      holdsCredential: true,
      renewBefore: 20,
      rules: [{ verbs: ['get'] }],
      secretRef: { namespace: 'n', name: 's' },
      status: {
        accessKeyUID: 'u',
        chain: 'c',
        previous: { ...previous, expirationTimestamp: created + 600_000 },
      },
    });
  });

  it.each([
    ['an earlier release', { keyID: 'k1' }, 'k1'],
    ['an earlier release over one of this', { keyID: 'k1', signingKeyID: 'k0' }, 'k1'],
    ['this release', { signingKeyID: 'k1' }, 'k1'],
  ])('knows the signing key of a predecessor that %s wrote', (_, named, expected) => {
    const former = { credentialHash: credentialHash('old'), serial: 1 };
    const previous = { ...former, expirationTimestamp: '2026-11-21T10:10:00Z', ...named };
    const { status } = recordOf(credentialObject({ status: { previous } }));
    expect(status.previous?.signingKeyID).toBe(expected);
  });

  const tokenID = 'a'.repeat(43);
  it.each([
    ['this release', { serial: 4, tokenID: { serial: 4, hash: tokenID } }, tokenID],
    ['an earlier release over one of this', { serial: 5, tokenID: { serial: 4, hash: tokenID } }, undefined],
    ['an earlier release', { serial: 4 }, undefined],
    ['no one, for it names no serial', { tokenID: { hash: tokenID } }, undefined],
    ['no one, for it is no hash', { serial: 4, tokenID: { serial: 4, hash: 'uid.4' } }, undefined],
  ])('knows the ID of a token, and of a predecessor, that %s wrote', (_, named, expected) => {
    const former = { credentialHash: credentialHash('old'), expirationTimestamp: '2026-11-21T10:10:00Z' };
    const previous = { ...former, serial: 0, ...named };
    const { status } = recordOf(credentialObject({ status: { ...named, previous } }));
    expect([status.tokenIDHash, status.previous?.tokenIDHash]).toEqual([expected, expected]);
  });

  it('keys namespaced objects by namespace and name', () => {
    const object = credentialObject({
      kind: 'VirtualClusterInstanceKubeConfig',
      metadata: { namespace: 'p-one' },
      status: { kubeConfig: 'x' },
    });
    expect(recordOf(object)).toMatchObject({
      key: 'p-one/ci',
      name: 'ci',
      namespace: 'p-one',
      holdsCredential: true,
    });
  });

  it('keeps no secret and no prose', () => {
    const secret = { connectorData: 'connector-secret' };
    const spec = {
      user: 'alice',
      key,
      displayName: 'display-name',
      description: 'prose',
      identity: secret,
      oidcLogin: { idToken: 'id-token' },
    };
    const object = credentialObject({ spec, status: { token: 'the-token', kubeConfig: 'the-kubeconfig' } });
    const text = JSON.stringify(recordOf(object));
    for (const part of [
      key,
      'display-name',
      'prose',
      'connector-secret',
      'id-token',
      'the-token',
      'the-kubeconfig',
    ]) {
      expect(text).not.toContain(part);
    }
  });

  it.each([
    [{ identity: { connectorData: 'x' } }, true],
    [{ oidcLogin: { idToken: 'x' } }, true],
    [{ oidcLogin: { accessToken: 'x' } }, true],
    [{ oidcLogin: { refreshToken: 'x' } }, true],
    [{ identity: { connectorData: '', email: 'a@b' }, oidcLogin: { lastRefresh: 'x' } }, false],
  ])('tells whether %j holds secrets of a login', (spec, expected) => {
    expect(projected(spec).holdsLoginSecrets).toBe(expected);
  });

  it('tells an absent scope from a null one', () => {
    expect(projected({}).scope).toBeUndefined();
    expect(projected({ scope: null })).toHaveProperty('scope', null);
  });

  it.each([
    ['accessKey', 7, 'AccessKeyNotFound'],
    ['accessKey', ['a'], 'AccessKeyNotFound'],
    ['secretRef', 'name', 'SecretFailed'],
    ['secretRef', {}, 'SecretFailed'],
    ['secretRef', { name: 7 }, 'SecretFailed'],
    ['user', 'system:admin', 'IdentityInvalid'],
  ])('has a problem with spec.%s %j', (field, value, reason) => {
    expect(projected({ user: 'alice', [field]: value }).problem?.reason).toBe(reason);
  });

  it('has a problem with a stamp that names two credentials', () => {
    const object = credentialObject({ annotations: { [annotations.createdWith]: 'a/1,b/2' } });
    expect(recordOf(object).problem).toEqual({
      reason: 'RequesterUnknown',
      message:
        'the annotation management.platform.sh/created-with does not name one credential; create the object again',
    });
  });

  it.each([['ci/5c7e1f0e'], [''], [7]])('has a problem with a change beyond limits, by %j', (stamp) => {
    const object = credentialObject({ annotations: { [annotations.changedBeyondLimits]: stamp } });
    expect(recordOf(object).problem).toEqual({
      reason: 'ChangedBeyondLimits',
      message: expect.stringContaining('set spec to what it shall be, with a credential without a scope'),
    });
  });

  it.each<[string, unknown, object]>([
    ['ttl', '3600', { ttl: -1 }],
    ['ttl', -5, { ttl: -1 }],
    ['ttl', 1.5, { ttl: -1 }],
    ['ttl', 1e300, { ttl: -1 }],
    ['disabled', 'false', { disabled: true }],
    ['disabled', 0, { disabled: true }],
    ['disabled', null, { disabled: false }],
    ['ttlAfterLastActivity', 'true', { ttlAfterLastActivity: false }],
    ['allowPlatformCli', 'true', { allowPlatformCli: false }],
    ['allowedNamespaces', ['a', 7, null], { allowedNamespaces: ['a'] }],
    ['allowedNamespaces', 'a', { allowedNamespaces: [] }],
  ])('reads spec.%s %j in the safe direction', (field, value, expected) => {
    expect(projected({ user: 'alice', key, [field]: value })).toMatchObject(expected);
  });

  it.each<[string, unknown, object]>([
    ['notAfter', 'soon', { notAfter: 0 }],
    ['confirmedTTL', 'x', { confirmedTTL: -1 }],
    ['serial', -1, { serial: 0 }],
    ['serial', '1', { serial: 0 }],
  ])('reads status.%s %j in the safe direction', (field, value, expected) => {
    expect(recordOf(credentialObject({ status: { [field]: value } })).status).toMatchObject(expected);
  });

  it.each(['credentialHash', 'lastActivity', 'issuedAt', 'previous', 'keySource', 'chain', 'fingerprint'])(
    'takes an unreadable status.%s as absent',
    (field) => {
      expect(recordOf(credentialObject({ status: { [field]: { a: 1 } } })).status).toEqual({ serial: 0 });
    },
  );

  it('counts an unreadable deletion as deleted, and an unreadable creation as long ago', () => {
    const object = credentialObject({ metadata: { deletionTimestamp: 'x', creationTimestamp: 'y' } });
    expect(recordOf(object)).toMatchObject({ deleted: 0, created: 0 });
  });

  it('never throws, whatever JSON it is given, and yields finite numbers only', () => {
    const anything = fc.jsonValue({ maxDepth: 6 });
    const live = confirmed(credentialObject({ spec: { user: 'alice', key, ttl: 60 } }));
    const paths = (['metadata', 'spec', 'status'] as const).flatMap((part) =>
      Object.keys(live[part]).map((name) => [part, name] as const),
    );
    const garbled = fc
      .tuple(fc.constantFrom(...paths), anything)
      .map(([[part, name], value]) => ({ ...live, [part]: { ...live[part], [name]: value } }));
    const parts = fc.record({ metadata: anything, spec: anything, status: anything });
    fc.assert(
      fc.property(fc.oneof(anything, parts, garbled), fc.constantFrom(...kinds), (object, kind) => {
        const record = toCredentialRecord(object, kind);
        expect(record.kind).toBe(kind);
        expect(
          JSON.stringify(record, (_, value) =>
            typeof value === 'number' && !Number.isFinite(value) ? 'not finite' : value,
          ),
        ).not.toContain('not finite');
      }),
      { numRuns: 500 },
    );
  });

  it('survives a document of many thousand levels', () => {
    const deep = JSON.parse(`${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`);
    const object = credentialObject({
      spec: { user: 'alice', scope: deep, key: deep, identity: deep },
      status: deep,
    });
    expect(recordOf(object)).toMatchObject({ fingerprints: [], specKey: { wellFormed: false } });
  });

  it('gives equal records for equal objects', () => {
    expect(liveRecord()).toEqual(liveRecord());
  });
});

const entry = (manager: string, ...fields: string[]) => ({
  manager,
  operation: 'Update',
  fieldsV1: { 'f:spec': Object.fromEntries(fields.map((field) => [`f:${field}`, {}])) },
});
const operator = entry('latchkey-operator', 'disabled', 'key');
const managedBy = (managedFields: unknown) =>
  toCredentialRecord({ metadata: { managedFields } }, 'OwnedAccessKey');

describe('the owner of spec.disabled by managed fields', () => {
  it.each([
    ['no one', undefined, 'none'],
    ['no one', [], 'none'],
    ['another field', [entry('kubectl', 'ttl')], 'none'],
    ['the operator', [operator], 'operator'],
    ['a person', [entry('kubectl-client-side-apply', 'disabled')], 'other'],
    ['the operator and Argo CD', [operator, entry('argocd-controller', 'disabled')], 'other'],
    [
      'the operator while Argo CD owns another field',
      [operator, entry('argocd-controller', 'ttl')],
      'operator',
    ],
    ['an entry without a manager', [{ fieldsV1: { 'f:spec': { 'f:disabled': {} } } }], 'other'],
    [
      'the status only',
      [{ manager: 'latchkey-operator', fieldsV1: { 'f:status': { 'f:disabled': {} } } }],
      'none',
    ],
    ['garbage', [null, 7, { fieldsV1: 'x' }, { fieldsV1: { 'f:spec': [] } }], 'none'],
    ['an object', { 0: operator }, 'none'],
  ])('answers for %s', (_, managedFields, owner) => {
    expect(managedBy(managedFields).disabledOwner).toBe(owner);
  });
});

describe('whether the operator wrote spec.key, by managed fields', () => {
  it.each([
    ['the operator', [operator], true],
    ['both', [entry('kubectl', 'key'), operator], true],
    ['a person', [entry('kubectl', 'key')], false],
    ['no one', undefined, false],
  ])('answers for %s', (_, managedFields, expected) => {
    expect(managedBy(managedFields).keyWrittenByOperator).toBe(expected);
  });
});
