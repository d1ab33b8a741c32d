import { describe, expect, it } from 'vitest';
import {
  type CredentialParts,
  credentialObject,
  recordOf,
  uidOf,
} from '../../test/builders/credential-object.ts';
import {
  recogniseCredentialSecret,
  renderCredentialSecret,
  secretLocation,
  stateText,
  stateTextOf,
  withState,
} from './credential-secret.ts';
import { credentialHash } from './keys/credential-hash.ts';

const secretRef = { namespace: 'ci', name: 'pipeline' };
const recordWith = (parts: CredentialParts = {}) =>
  recordOf(credentialObject({ spec: { user: 'alice', secretRef }, ...parts }));
const record = recordWith();
const location = { namespace: 'ci', name: 'pipeline', entry: 'key' };
const state = { reason: 'Issued', expires: Date.UTC(2026, 10, 22), fingerprint: 'v1:ab' };
const secret = renderCredentialSecret(record, location, { serial: 3, credential: 'the-credential', state });
const stateNotes = {
  'management.platform.sh/reason': 'Issued',
  'management.platform.sh/expires': '2026-11-22T00:00:00Z',
  'management.platform.sh/fingerprint': 'v1:ab',
};

describe('secretLocation', () => {
  it.each<[string, CredentialParts, object | undefined]>([
    ['an access key', {}, location],
    [
      'an entry of its own',
      { spec: { secretRef: { ...secretRef, key: 'KEY' } } },
      { ...location, entry: 'KEY' },
    ],
    ['a token', { kind: 'DirectClusterEndpointToken' }, { ...location, entry: 'token' }],
    [
      'a kubeconfig, in its own namespace whatever is written',
      { kind: 'VirtualClusterInstanceKubeConfig', metadata: { namespace: 'p-one' } },
      { namespace: 'p-one', name: 'pipeline', entry: 'config' },
    ],
    ['no namespace', { spec: { secretRef: { name: 'pipeline' } } }, undefined],
    ['no secretRef', { spec: { user: 'alice' } }, undefined],
  ])('with %s', (_, parts, expected) => {
    expect(secretLocation(recordWith(parts))).toEqual(expected);
  });
});

describe('renderCredentialSecret', () => {
  it('is labelled, owned, says the state of its credential, and holds one entry', () => {
    expect(secret).toEqual({
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'Opaque',
      metadata: {
        name: 'pipeline',
        namespace: 'ci',
        labels: {
          'management.platform.sh/owner-kind': 'OwnedAccessKey',
          'management.platform.sh/owner-name': 'ci',
          'management.platform.sh/owner-uid': uidOf('ci'),
          'management.platform.sh/purpose': 'credential',
          'management.platform.sh/serial': '3',
        },
        annotations: stateNotes,
        ownerReferences: [
          { apiVersion: 'management.platform.sh/v1', kind: 'OwnedAccessKey', name: 'ci', uid: uidOf('ci') },
        ],
      },
      data: { key: Buffer.from('the-credential').toString('base64') },
    });
  });

  it('copies no label and no annotation of the object', () => {
    const decorated = recordWith({
      metadata: { labels: { app: 'secret-label' }, annotations: { note: 'secret-note' } },
    });
    expect(
      JSON.stringify(renderCredentialSecret(decorated, location, { serial: 1, credential: 'x', state })),
    ).not.toMatch(/secret-label|secret-note/);
  });

  it('writes a name that is too long for a label as an annotation', () => {
    const name = `${'a'.repeat(60)}.example.com`;
    const { metadata } = renderCredentialSecret(recordWith({ name }), location, {
      ...{ serial: 1, credential: 'x' },
      state: { reason: 'Issued' },
    });
    expect(metadata.labels).not.toHaveProperty(['management.platform.sh/owner-name']);
    expect(metadata.annotations).toEqual({
      'management.platform.sh/owner-name': name,
      'management.platform.sh/reason': 'Issued',
    });
  });
});

describe('the state of a credential on its Secret', () => {
  it('replaces the one before, and leaves what others wrote', () => {
    const stored = { ...stateNotes, note: 'mine' };
    expect(withState(stored, { reason: 'Expired' })).toEqual({
      note: 'mine',
      'management.platform.sh/reason': 'Expired',
    });
  });

  it('is one text of the state and of the annotations, and of no other annotation', () => {
    expect(stateTextOf({ ...stateNotes, note: 'mine' })).toBe(stateText(state));
    expect(stateTextOf({ note: 'mine' })).toBe('');
    expect(stateText({ reason: 'Issued' })).not.toBe(stateText(state));
  });
});

describe('recogniseCredentialSecret', () => {
  const labels = secret.metadata.labels;
  const labelled = (change: Record<string, unknown>) => ({
    ...secret,
    metadata: { ...secret.metadata, labels: { ...labels, ...change } },
  });

  it('reads back what was rendered', () => {
    expect(recogniseCredentialSecret(secret, record, location)).toEqual({
      owner: 'this',
      serial: 3,
      credentialHash: credentialHash('the-credential'),
    });
  });

  it.each<[string, unknown]>([
    ['without labels', { ...secret, metadata: {} }],
    ['of another object', labelled({ 'management.platform.sh/owner-uid': uidOf('other') })],
    ['of another kind', labelled({ 'management.platform.sh/owner-kind': 'DirectClusterEndpointToken' })],
    ['of another type', { ...secret, type: 'kubernetes.io/service-account-token' }],
    ['that is no object', 'x'],
    ['that is missing', undefined],
  ])('never takes a Secret %s for its own', (_, existing) => {
    expect(recogniseCredentialSecret(existing, record, location)).toEqual({ owner: 'other' });
  });

  it('never takes any Secret for that of an object without a UID', () => {
    const unborn = recordWith({ metadata: { uid: '' } });
    expect(
      recogniseCredentialSecret(labelled({ 'management.platform.sh/owner-uid': '' }), unborn, location),
    ).toEqual({
      owner: 'other',
    });
  });

  it.each([undefined, '', '0', '-1', '1e3', 'x', 3])('reads the serial %j as 0', (serial) => {
    const existing = labelled({ 'management.platform.sh/serial': serial });
    expect(recogniseCredentialSecret(existing, record, location)).toMatchObject({ serial: 0 });
  });

  it.each([undefined, {}, { key: '' }, { other: 'eA==' }, { key: 7 }])(
    'finds no credential in the data %j',
    (data) => {
      expect(recogniseCredentialSecret({ ...secret, data }, record, location)).toEqual({
        owner: 'this',
        serial: 3,
      });
    },
  );
});
