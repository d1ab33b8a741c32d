import { describe, expect, it } from 'vitest';
import { liveRecord } from '../../../../test/builders/credential-object.ts';
import { verdictFor } from '../../../../test/builders/gateway-stage.ts';
import { asObject } from '../../../api/json.ts';
import { annotations, apiVersion } from '../../../api/names.ts';
import { credentialHash } from '../../../credentials/keys/credential-hash.ts';
import { Refusal } from '../shared/reply.ts';
import type { OwnRequest } from './request.ts';
import { belowMaker, fitToPath, withHashedKey, withMakerGroups, withNewKey } from './sent-object.ts';

const place = (name = '', namespace = '') =>
  ({
    kind: namespace === '' ? 'OwnedAccessKey' : 'VirtualClusterInstanceKubeConfig',
    asked: { name, namespace },
  }) as unknown as Pick<OwnRequest, 'kind' | 'asked'>;
const scope = { clusters: [{ cluster: '*' }] };
const plain = 'a-key-that-somebody-chose';
const hash = `sha256:${credentialHash(plain)}`;

describe('an object that is sent', () => {
  it('may leave out what the path says', () => {
    expect(fitToPath(place('ci'), {})).toEqual({
      kind: 'OwnedAccessKey',
      apiVersion,
      metadata: { name: 'ci' },
      spec: {},
    });
    expect(fitToPath(place('ci'), { metadata: null, spec: null })).toEqual(fitToPath(place('ci'), {}));
    const inNamespace = fitToPath(place('shop', 'p-a'), { metadata: { namespace: '' } });
    expect(inNamespace['metadata']).toEqual({ name: 'shop', namespace: 'p-a' });
  });

  it.each([
    [{}, { generateName: 'key-' }],
    [{ metadata: { name: 'a' } }, { name: 'a' }],
    [{ metadata: { generateName: 'a-' } }, { generateName: 'a-' }],
  ])('gets a name when it is new: %j', (sent, metadata) => {
    expect(fitToPath(place(), sent)['metadata']).toEqual(metadata);
  });

  it('brings no status', () => {
    expect(fitToPath(place('ci'), { status: { token: plain } })).not.toHaveProperty('status');
  });

  it.each([
    { kind: 'Secret' },
    { kind: 7 },
    { apiVersion: 'v1' },
    { metadata: { name: 'other' } },
    { metadata: { namespace: 'default' } },
    { metadata: 'a text' },
    { spec: 'a text' },
    { spec: ['a', 'list'] },
    { metadata: { labels: 5 } },
    { metadata: { annotations: ['a', 'list'] } },
    { metadata: { finalizers: 'a text' } },
    { metadata: { finalizers: [5] } },
  ])('is refused when it says something else: %j', (sent) => {
    expect(() => fitToPath(place('ci'), sent)).toThrow(Refusal);
  });

  it('that looks like an answer of the gateway is an object', () => {
    const sent = { code: 'ERR_INTERNAL', status: 200, headers: ['set-cookie', 'a'], body: 'x' };
    expect(fitToPath(place('ci'), sent)).toMatchObject({ kind: 'OwnedAccessKey', code: 'ERR_INTERNAL' });
  });
});

describe('what a limited credential makes', () => {
  const limited = { ...verdictFor(scope), record: liveRecord({ name: 'self' }) };
  const childOf = (accessKey: unknown) => ({ spec: { accessKey } });

  it('is its child', () => {
    expect(belowMaker({ spec: { ttl: 5 } }, limited)).toEqual({ spec: { ttl: 5, accessKey: 'self' } });
    expect(belowMaker(childOf('self'), limited)).toEqual(childOf('self'));
    expect(belowMaker({ spec: {} }, verdictFor())).toEqual({ spec: {} });
  });

  it('is refused below another key', () => {
    expect(() => belowMaker(childOf('other'), limited)).toThrow(Refusal);
    expect(() => belowMaker(childOf({}), limited)).toThrow(Refusal);
  });
});

describe('the key of an object that is sent', () => {
  it('goes on as its hash', () => {
    expect(withHashedKey({ spec: { key: plain } })).toEqual({ object: { spec: { key: hash } }, plain });
    expect(withHashedKey({ spec: { key: hash } })).toEqual({ object: { spec: { key: hash } } });
  });

  it.each(['short', `lk_${'a'.repeat(49)}`, `lk_${'a'.repeat(40)}`, 7, { a: 1 }])(
    'is refused when it is none: %j',
    (key) => {
      expect(() => withHashedKey({ spec: { key } })).toThrow(Refusal);
    },
  );

  it('is made where there is none and no Secret is asked for', () => {
    const random = (bytes: number) => new Uint8Array(bytes).fill(1);
    const made = withNewKey({ spec: { key: '' } }, random);
    expect(made.plain).toMatch(/^lk_/);
    expect(asObject(made.object['spec'])['key']).toBe(`sha256:${credentialHash(made.plain ?? '')}`);
    const copied = {
      metadata: { name: 'a', annotations: { note: 'kept', [annotations.origin]: 'created' } },
    };
    expect(withNewKey(copied, random).object['metadata']).toEqual({
      name: 'a',
      annotations: { note: 'kept' },
    });
    const inSecret = { spec: { secretRef: { namespace: 'a', name: 'b' } } };
    expect(withNewKey(inSecret, random)).toEqual({ object: inSecret });
  });
});

describe('a new key of one’s own', () => {
  const identity = { kind: 'user', user: 'alice', groups: ['dev', 'team:x'] } as const;
  const filled = (spec: object, verdict: Partial<Parameters<typeof withMakerGroups>[1]> = {}) =>
    asObject(withMakerGroups({ spec }, { identity, isLimited: false, ...verdict })['spec'])['groups'];

  it('has the groups of its maker, but for reserved ones', () => {
    expect([filled({}), filled({ user: 'alice' }), filled({ user: '', groups: null })]).toEqual([
      ['dev'],
      ['dev'],
      ['dev'],
    ]);
    expect(withMakerGroups({ spec: {} }, { identity, isLimited: false })).toEqual({
      spec: { user: 'alice', groups: ['dev'] },
    });
  });

  it.each<[string, object, object, unknown]>([
    ['says which', { groups: ['ops'] }, {}, ['ops']],
    ['says none', { groups: [] }, {}, []],
    ['is for another user', { user: 'bob' }, {}, undefined],
    ['is for a team', { team: 'x' }, {}, undefined],
    ['is for a subject', { subject: 'x' }, {}, undefined],
    ['is below a key', { accessKey: 'parent' }, {}, undefined],
    ['is made with a limited credential', {}, { isLimited: true }, undefined],
    ['is made by a team', {}, { identity: { ...identity, kind: 'team', user: 'team:x' } }, undefined],
    ['is made by one without groups', {}, { identity: { ...identity, groups: [] } }, undefined],
  ])('has no others where it %s', (_, spec, verdict, expected) => {
    expect(filled(spec, verdict)).toEqual(expected);
  });

  it('has no more of them than a key can have', () => {
    const groups = Array.from({ length: 20 }, (_, index) => `g${index}`);
    expect(filled({}, { identity: { ...identity, groups } })).toHaveLength(16);
  });

  it('has no key where it takes tokens of other issuers alone', () => {
    const takesTokens = { spec: { exchange: { tokens: [] } } };
    expect(withNewKey(takesTokens, () => new Uint8Array(32))).toEqual({ object: takesTokens });
    const withKey = { spec: { ...takesTokens.spec, key: plain } };
    expect(withNewKey(withKey, () => new Uint8Array(32))).toMatchObject({ plain });
  });
});
