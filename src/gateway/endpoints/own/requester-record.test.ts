import { describe, expect, it } from 'vitest';
import { annotations as names } from '../../../api/names.ts';
import {
  type Asker,
  recordNames,
  toAsker,
  withFixedFields,
  withKeptFields,
  withNewRecord,
  withStoredRecord,
} from './sent-object.ts';

const forged = Object.fromEntries(recordNames.map((name) => [name, 'laura']));
const asker: Asker = { user: 'alice', groups: ['dev', 'ops'], credential: 'ci/1', isLimited: false };
const selfService = { ...asker, groups: ['dev', 'management.platform.sh:self-service'] };
const [key, token] = ['OwnedAccessKey', 'DirectClusterEndpointToken'] as const;
const ephemeral = 'management.platform.sh/ephemeral';
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

// biome-ignore lint/suspicious/noExplicitAny: objects are checked by the tests
const made = (object: object, kind: 'OwnedAccessKey' | 'DirectClusterEndpointToken', by = asker): any =>
  withNewRecord(object as never, kind, by);

describe('who asks', () => {
  it('is in the groups that are sent, in their order, and in that of all that the API server knows', () => {
    const headers = ['impersonate-group', 'dev', 'x-groups', 'no', 'impersonate-group', 'a "b"'];
    const { groups } = toAsker(headers, asker, 'self-service');
    expect(groups).toEqual(['dev', 'a "b"', 'self-service', 'system:authenticated']);
    expect(toAsker(['impersonate-group', 'system:authenticated'], asker, 'g').groups).toEqual([
      'system:authenticated',
      'g',
    ]);
  });
});

describe('the record of a new object', () => {
  it('says who asked with which credential, whatever was sent', () => {
    const { metadata } = made({ metadata: { annotations: { ...forged, note: 'n' } }, spec: {} }, token);
    expect(metadata.annotations).toEqual({
      note: 'n',
      [names.requester]: 'alice',
      [names.requesterGroups]: '["dev","ops"]',
      [names.createdWith]: 'ci/1',
    });
  });

  it('says of which token it comes, and of no credential where there was none', () => {
    const { credential: _, ...stranger } = asker;
    const exchange = { [names.exchangedIssuer]: 'https://issuer.example.com' };
    const { metadata } = withNewRecord(
      { metadata: { annotations: forged }, spec: {} },
      key,
      stranger,
      exchange,
    ) as {
      metadata: { annotations: object };
    };
    expect(metadata.annotations).toEqual({
      [names.requester]: 'alice',
      [names.requesterGroups]: '["dev","ops"]',
      ...exchange,
    });
  });

  it('holds the finalizer once, and nothing of what field managers are said to have done', () => {
    const finalizers = ['mine', 'management.platform.sh/ownedaccesskey'];
    for (const sent of [['mine'], finalizers])
      expect(made({ metadata: { finalizers: sent, managedFields: [{}] } }, key).metadata).toMatchObject({
        finalizers,
      });
    expect(made({ metadata: { managedFields: [{}] } }, key).metadata).not.toHaveProperty('managedFields');
  });

  it.each([
    ['made by POST', selfService, {}, 'true'],
    ['declared by kubectl apply', selfService, { [lastApplied]: '{}' }, undefined],
    ['declared by server-side apply', asker, {}, undefined],
  ])('says of what is %s whether it goes with its end', (_, by, annotations, label) => {
    const { metadata } = made({ metadata: { annotations, labels: { [ephemeral]: 'x', a: 'b' } } }, key, by);
    expect(metadata.labels).toEqual({ a: 'b', ...(label && { [ephemeral]: label }) });
  });

  it.each([
    ['alice', key, {}, 'alice'],
    ['alice', key, { user: '', team: null }, 'alice'],
    ['alice', key, { team: 'ops' }, undefined],
    ['alice', key, { accessKey: 'parent' }, undefined],
    ['team:ops', key, {}, undefined],
    ['alice', token, {}, undefined],
  ])('of %s, a %s of %j, is for the user %s', (user, kind, spec, expected) => {
    expect(made({ spec }, kind, { ...asker, user }).spec.user).toBe(expected);
  });
});

const storedRecord = {
  [names.requester]: 'alice',
  [names.requesterGroups]: '["dev","admins"]',
  [names.createdWith]: 'first/0',
};
const stored: { metadata: object; spec: object } = {
  metadata: { annotations: storedRecord, labels: { [ephemeral]: 'true' }, uid: 'u' },
  spec: { ttl: 5, displayName: 'a' },
};
const recordBeyond = { ...storedRecord, [names.changedBeyondLimits]: 'ci/1' };
const beyond = { ...stored, metadata: { annotations: recordBeyond } };
const changedBy = { [names.changedBy]: 'alice', [names.changedByGroups]: '["dev","ops"]' };
const narrowed = { ...storedRecord, [names.requesterGroups]: '["dev"]' };
const recordOfBob = { ...storedRecord, [names.requester]: 'bob' };
const ofBob = { ...stored, metadata: { annotations: recordOfBob } };
const child = { ...stored, spec: { ...stored.spec, accessKey: 'parent' } };
const rotate = { [names.rotate]: 'now' };

function annotationsAfter(
  spec: object,
  { from = stored, kind = token as 'OwnedAccessKey' | typeof token, by = asker, annotations = {} } = {},
) {
  const object = {
    metadata: { annotations: { ...forged, ...annotations } },
    spec: { ...from.spec, ...spec },
  };
  const changed = withStoredRecord(object, { kind, stored: from as never, result: object }, by);
  return (changed['metadata'] as { annotations: object }).annotations;
}

describe('the record of a changed object', () => {
  it.each<[string, object, Parameters<typeof annotationsAfter>[1], object]>([
    ['nothing', {}, {}, storedRecord],
    ['a text', { displayName: 'b', description: 'c' }, {}, storedRecord],
    ['an end of its use', { disabled: true }, { kind: key }, storedRecord],
    ['the spec of a token', { ttl: 9 }, {}, { ...narrowed, ...changedBy }],
    ['a rotation', {}, { annotations: rotate }, { ...narrowed, ...rotate }],
    ['the spec of a key', { ttl: 9 }, { kind: key }, { ...storedRecord, ...changedBy }],
    ['the return of a key', { disabled: false }, { kind: key }, { ...storedRecord, ...changedBy }],
    ['the spec of a child', { ttl: 9 }, { from: child }, { ...storedRecord, ...changedBy }],
    ['the spec of another one’s', { ttl: 9 }, { from: ofBob }, { ...recordOfBob, ...changedBy }],
    ['what went beyond limits', { ttl: 9 }, { from: beyond, kind: key }, { ...storedRecord, ...changedBy }],
    [
      'the same with a limited credential',
      { ttl: 9 },
      { from: beyond, kind: key, by: { ...asker, isLimited: true } },
      { ...recordBeyond, ...changedBy },
    ],
  ])('after %s', (_, spec, options, expected) => {
    expect(annotationsAfter(spec, options)).toEqual(expected);
  });

  it('keeps label and finalizer as they are stored, and until the deletion begins', () => {
    const finalizers = ['management.platform.sh/ownedaccesskey'];
    const old = { ...stored, metadata: { ...stored.metadata, finalizers } };
    const metadataAfter = (metadata: object, from: object = old) => {
      const object = { metadata, spec: stored.spec } as never;
      return withStoredRecord(object, { kind: key, stored: from as never, result: object }, asker)[
        'metadata'
      ];
    };
    expect(metadataAfter({ labels: { a: 'b' } })).toMatchObject({
      labels: { a: 'b', [ephemeral]: 'true' },
      finalizers,
    });
    const plain = { metadata: {}, spec: stored.spec };
    expect(metadataAfter({ labels: { [ephemeral]: 'true' } }, plain)).toEqual({ labels: {} });
    const deleted = { ...old, metadata: { ...old.metadata, deletionTimestamp: 'now' } };
    expect(metadataAfter({ finalizers: [] }, deleted)).toMatchObject({ finalizers: [] });
    const annotations = { ...storedRecord, [names.exchangedUntil]: '2026-01-01T00:00:00Z' };
    const exchanged = { ...deleted, metadata: { ...deleted.metadata, annotations } };
    expect(metadataAfter({ finalizers: [] }, exchanged)).toMatchObject({ finalizers });
  });
});

describe('an apply', () => {
  it.each([
    [{ ttl: 1 }, { user: 'alice' }, { ttl: 1, user: 'alice' }],
    [{ user: 'bob' }, { team: 'ops' }, { user: 'bob' }],
    [{}, { accessKey: 'ci' }, { accessKey: 'ci' }],
    [{ accessKey: null }, { accessKey: 'ci' }, { accessKey: null }],
    [{ ttl: 1 }, {}, { ttl: 1 }],
  ])('of %j in place of %j goes out as %j, for what is fixed cannot be left out', (spec, old, expected) => {
    expect(withFixedFields({ spec }, { spec: old })['spec']).toEqual(expected);
  });
});

describe('a PUT of a key', () => {
  const kept = (
    spec: object,
    old: object,
    status: object = {},
    kind: 'OwnedAccessKey' | typeof token = key,
  ) => withKeptFields({ spec } as never, { kind, stored: { spec: old, status } as never })['spec'];

  it.each([
    [{}, { disabled: true }, {}, { disabled: true }],
    [{ disabled: false }, { disabled: true }, {}, { disabled: false }],
    [{}, { disabled: true }, { disabledByExpiry: '2026' }, {}],
    [{}, { secretRef: { name: 'a' } }, {}, { secretRef: { name: 'a' } }],
    [{ key: 'k' }, { secretRef: { name: 'a' } }, {}, { key: 'k' }],
    [{}, { allowedNamespaces: ['p'] }, {}, { allowedNamespaces: ['p'] }],
    [{ allowedNamespaces: [] }, { allowedNamespaces: ['p'] }, {}, { allowedNamespaces: [] }],
    [{ ttl: 1 }, { user: 'alice' }, {}, { ttl: 1, user: 'alice' }],
    [{ user: 'bob' }, { team: 'ops' }, {}, { user: 'bob' }],
  ])('of %j in place of %j with the status %j becomes %j', (spec, old, status, expected) => {
    expect(kept(spec, old, status)).toEqual(expected);
  });

  it('differs from that of a token, which holds none of these', () => {
    expect(kept({}, { disabled: true }, {}, token)).toEqual({});
  });
});
