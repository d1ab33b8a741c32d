import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type CredentialObject,
  type CredentialParts,
  confirmed,
  created,
  credentialObject,
  liveRecord,
  recordOf,
} from '../../test/builders/credential-object.ts';
import { acceptsPrevious, isLive } from './liveness.ts';
import type { CredentialRecord } from './record.ts';

const options = { activityInterval: 60_000 };
const minute = 60_000;
const key = 'some-key-of-twenty-characters';
const token = 'DirectClusterEndpointToken';

/** `leaf` (a token by default) below `middle` below `root`. */
function family(parts: { root?: CredentialParts; middle?: CredentialParts; leaf?: CredentialParts } = {}) {
  const root = liveRecord({ name: 'root', ...parts.root });
  const middle = liveRecord({ name: 'middle', spec: { accessKey: 'root', key }, ...parts.middle }, [root]);
  const leaf = confirmed(
    credentialObject({ kind: token, name: 'leaf', spec: { accessKey: 'middle' }, ...parts.leaf }),
    [middle, root],
  );
  return { root, middle, leaf };
}

const lookupIn =
  (...records: readonly CredentialRecord[]) =>
  (name: string) =>
    records.find((record) => record.name === name);
const judge = (record: CredentialRecord, parents: readonly CredentialRecord[] = [], now = created) =>
  isLive(record, lookupIn(...parents), now, options);

describe('isLive', () => {
  it('lets a confirmed key live, for ever without a ttl', () => {
    expect(judge(liveRecord())).toEqual({
      live: true,
      end: Number.POSITIVE_INFINITY,
      identity: { kind: 'user', user: 'alice', groups: [] },
      ancestors: [],
    });
  });

  it.each<[string, CredentialParts]>([
    ['a key that is known by its hash', { spec: { user: 'a', key: `sha256:${'ab'.repeat(32)}` } }],
    ['a key that stands in a Secret', { spec: { user: 'a', secretRef: { namespace: 'n', name: 's' } } }],
    ['a token of a person', { kind: token }],
    ['a kubeconfig', { kind: 'VirtualClusterInstanceKubeConfig', metadata: { namespace: 'p-one' } }],
  ])('lets %s live', (_, parts) => {
    expect(judge(liveRecord(parts)).live).toBe(true);
  });

  it('lives until its end, and not at it', () => {
    const record = liveRecord({ spec: { user: 'a', key, ttl: 60 } });
    expect(judge(record, [], created + minute - 1)).toMatchObject({ live: true, end: created + minute });
    expect(judge(record, [], created + minute)).toEqual({ live: false, reason: 'Expired' });
  });

  it.each<[string, CredentialParts]>([
    ['a key', { spec: { user: 'a', key, ttl: 60, disabled: true } }],
    ['an idle key', { spec: { user: 'a', key, ttl: 60, ttlAfterLastActivity: true, disabled: true } }],
  ])('has ended, and is not disabled, when the operator has disabled %s at its end', (_, parts) => {
    const record = liveRecord(parts);
    expect(judge(record)).toEqual({ live: false, reason: 'Disabled' });
    expect(judge(record, [], created + 3 * minute)).toEqual({ live: false, reason: 'Expired' });
    const unconfirmed = { ...record, status: { ...record.status, fingerprint: 'v1:x' } };
    expect(judge(unconfirmed, [], created + 3 * minute)).toEqual({ live: false, reason: 'Disabled' });
  });

  it('counts the own last use of an idle key', () => {
    const record = liveRecord({ spec: { user: 'a', key, ttl: 60, ttlAfterLastActivity: true } });
    const now = created + 3 * minute;
    expect(judge(record, [], now)).toMatchObject({ reason: 'Expired' });
    const own = isLive(record, lookupIn(), now, { ...options, ownActivity: () => created + 2 * minute });
    expect(own).toMatchObject({ live: true, end: created + 4 * minute });
  });

  it.each<[string, CredentialParts, string]>([
    ['being deleted', { metadata: { deletionTimestamp: '2026-11-21T10:00:00Z' } }, 'Deleting'],
    ['disabled', { spec: { user: 'a', key, disabled: true } }, 'Disabled'],
    ['without a hash in status', { status: { credentialHash: null } }, 'Unconfirmed'],
    ['without a fingerprint', { status: { fingerprint: null } }, 'Unconfirmed'],
    ['with another fingerprint', { status: { fingerprint: `v1:${'0'.repeat(64)}` } }, 'Unconfirmed'],
    ['without a confirmed life', { status: { confirmedTTL: null } }, 'Unconfirmed'],
    ['without a serial', { status: { serial: null } }, 'Unconfirmed'],
    ['without a UID', { metadata: { uid: '' } }, 'Unconfirmed'],
    ['confirmed for another key', { status: { credentialHash: 'cd'.repeat(32) } }, 'Unconfirmed'],
    ['without key and Secret', { spec: { user: 'a' } }, 'Unconfirmed'],
    ['with a malformed key', { spec: { user: 'a', key: 'short' } }, 'MalformedKey'],
    ['with a typing error in its key', { spec: { user: 'a', key: `lk_${'a'.repeat(49)}` } }, 'MalformedKey'],
    ['with a key that was cut', { spec: { user: 'a', key: `lk_${'a'.repeat(40)}` } }, 'MalformedKey'],
    ['of no one', { spec: { key } }, 'IdentityInvalid'],
    ['of a reserved name', { spec: { user: 'system:admin', key } }, 'IdentityInvalid'],
    ['with a problem', { spec: { user: 'a', key, accessKey: 7 } }, 'AccessKeyNotFound'],
    ['a token of no one', { kind: token, metadata: { annotations: {} } }, 'RequesterUnknown'],
    ['a token that was never issued', { kind: token, status: { issuedAt: null } }, 'Unconfirmed'],
    ['a token with the chain of a former parent', { kind: token, status: { chain: 'ab' } }, 'ChainChanged'],
  ])('refuses a credential %s', (_, parts, reason) => {
    expect(judge(liveRecord(parts))).toEqual({ live: false, reason });
  });
});

describe('isLive with ancestors', () => {
  it('takes identity and the earliest end from them', () => {
    const { root, middle, leaf } = family({
      root: { spec: { user: 'bob', key, ttl: 120 } },
      middle: { spec: { accessKey: 'root', key, ttl: 60 } },
    });
    expect(judge(recordOf(leaf), [root, middle])).toEqual({
      live: true,
      end: created + minute,
      identity: { kind: 'user', user: 'bob', groups: [] },
      ancestors: [middle, root],
    });
  });

  it.each<[string, Partial<CredentialRecord>, string]>([
    ['disabled', { disabled: true }, 'Disabled'],
    ['being deleted', { deleted: created }, 'Deleting'],
    ['unconfirmed', { fingerprints: ['v1:x'] }, 'Unconfirmed'],
    ['ended', { ttl: -1 }, 'Expired'],
  ])('refuses when an ancestor is %s', (_, change, accessKeyReason) => {
    const { root, middle, leaf } = family();
    expect(judge(recordOf(leaf), [{ ...root, ...change }, middle])).toEqual({
      live: false,
      reason: 'AccessKeyNotLive',
      accessKey: 'root',
      accessKeyReason,
    });
  });

  it.each<[string, (all: ReturnType<typeof family>) => readonly CredentialRecord[], string, string]>([
    ['the parent is gone', ({ root }) => [root], 'AccessKeyGone', 'middle'],
    ['a far ancestor is gone', ({ middle }) => [middle], 'AccessKeyGone', 'root'],
    [
      'the parent is another object of that name',
      ({ root, middle }) => [root, { ...middle, uid: 'other' }],
      'AccessKeyGone',
      'middle',
    ],
    [
      'a far ancestor is another object of that name',
      ({ root, middle }) => [{ ...root, uid: 'other' }, middle],
      'AccessKeyGone',
      'root',
    ],
    [
      'the parent is no access key',
      ({ root, middle }) => [root, { ...middle, kind: token }],
      'AccessKeyChainInvalid',
      'middle',
    ],
  ])('refuses when %s', (_, parents, reason, accessKey) => {
    const all = family();
    expect(judge(recordOf(all.leaf), parents(all))).toEqual({ live: false, reason, accessKey });
  });

  it('refuses a parent that was never pinned', () => {
    const { root, middle, leaf } = family({
      leaf: { kind: token, spec: { accessKey: 'middle' }, status: { accessKeyUID: null } },
    });
    expect(judge(recordOf(leaf), [root, middle])).toMatchObject({ reason: 'Unconfirmed' });
  });

  it('refuses cycles', () => {
    const one = {
      ...liveRecord({ name: 'one', spec: { accessKey: 'two', key } }, [liveRecord({ name: 'two' })]),
    };
    const two = liveRecord({ name: 'two', spec: { accessKey: 'one', key } }, [one]);
    expect(judge(one, [one, two])).toEqual({
      live: false,
      reason: 'AccessKeyChainInvalid',
      accessKey: 'one',
    });
    const self = liveRecord({ name: 'one', spec: { accessKey: 'one', key } }, [one]);
    expect(judge(self, [self])).toEqual({ live: false, reason: 'AccessKeyChainInvalid', accessKey: 'one' });
  });

  it.each([
    [8, true],
    [9, false],
  ])('with %i levels above it lives: %s', (levels, live) => {
    const line = [liveRecord({ name: 'key-0' })];
    for (let level = 1; level <= levels; level += 1) {
      line.unshift(liveRecord({ name: `key-${level}`, spec: { accessKey: `key-${level - 1}`, key } }, line));
    }
    expect(judge(line[0] as CredentialRecord, line).live).toBe(live);
  });

  it('refuses a token, but not a key, once the scope of an ancestor changed and was confirmed', () => {
    const { root, leaf, middle } = family();
    const child = liveRecord({ name: 'child', spec: { accessKey: 'middle', key } }, [middle, root]);
    const narrowed = liveRecord({
      name: 'root',
      spec: { ...credentialObject({ name: 'root' }).spec, scope: {} },
    });
    expect(judge(recordOf(leaf), [narrowed, middle])).toEqual({ live: false, reason: 'ChainChanged' });
    expect(judge(child, [narrowed, middle])).toMatchObject({ live: true, ancestors: [middle, narrowed] });
  });

  it('accepts a chain of the algorithm before, so that an upgrade ends no token', () => {
    const { root, middle, leaf } = family();
    const upgraded = [root, middle].map((record) => ({
      ...record,
      fingerprints: [`v2:${record.uid}`, ...record.fingerprints],
    }));
    expect(judge(recordOf(leaf), upgraded).live).toBe(true);
  });
});

describe('acceptsPrevious', () => {
  const previous = {
    credentialHash: 'ab'.repeat(32),
    serial: 1,
    expirationTimestamp: '2026-11-21T10:10:00Z',
  };

  it.each([
    ['before its end', previous, 10 * minute - 1, true],
    ['at its end', previous, 10 * minute, false],
    ['without one', undefined, 0, false],
    ['with an unreadable end', { ...previous, expirationTimestamp: 'later' }, 0, false],
    ['without a hash', { ...previous, credentialHash: '' }, 0, false],
  ])('answers %s', (_, status, age, expected) => {
    expect(acceptsPrevious(liveRecord({ kind: token, status: { previous: status } }), created + age)).toBe(
      expected,
    );
  });
});

describe('isLive for any input', () => {
  const base = family({
    root: { spec: { user: 'bob', key, ttl: 3600 } },
    leaf: { kind: token, name: 'leaf', spec: { accessKey: 'middle', ttl: 600 } },
  });
  const parents = [base.root, base.middle];
  const needed = [
    'credentialHash',
    'fingerprint',
    'serial',
    'issuedAt',
    'notAfter',
    'confirmedTTL',
    'accessKeyUID',
    'chain',
  ] as const;
  const withStatus = (change: Record<string, unknown>): CredentialObject => ({
    ...base.leaf,
    status: { ...base.leaf.status, ...change },
  });

  it('starts from a credential that is live', () => {
    expect(judge(recordOf(base.leaf), parents).live).toBe(true);
  });

  it('refuses when any confirmed field is missing', () => {
    for (const field of needed)
      expect(judge(recordOf(withStatus({ [field]: undefined })), parents).live, field).toBe(false);
  });

  it('refuses when a confirmed field is anything but what was confirmed', () => {
    const fields = fc.constantFrom(
      'credentialHash',
      'fingerprint',
      'accessKeyUID',
      'chain',
      'issuedAt',
      'notAfter',
    );
    const garbage = fc.oneof(fc.jsonValue(), fc.string(), fc.constant(`v1:${'0'.repeat(64)}`));
    fc.assert(
      fc.property(
        fields,
        garbage,
        (field, value) => !judge(recordOf(withStatus({ [field]: value })), parents).live,
      ),
    );
  });

  it('refuses any change of a covered field of the spec', () => {
    const fields = fc.constantFrom(
      'user',
      'team',
      'subject',
      'groups',
      'scope',
      'rules',
      'server',
      'secretRef',
      'accessKey',
    );
    const value = fc
      .jsonValue()
      .filter((json) => json !== null && json !== '' && !(Array.isArray(json) && json.length === 0));
    fc.assert(
      fc.property(fields, value, (field, json) => {
        const changed = { ...base.leaf, spec: { ...base.leaf.spec, [field]: json } };
        return !judge(recordOf(changed), parents).live;
      }),
    );
  });

  it('never comes to life by what narrows, nor lives longer by it', () => {
    const anyStatus = fc.record(
      Object.fromEntries(
        needed.map((field) => [
          field,
          fc.oneof({ weight: 8, arbitrary: fc.constant(base.leaf.status[field]) }, fc.jsonValue()),
        ]),
      ),
    );
    const ttl = fc.integer({ min: 60, max: 7200 });
    const narrowing = fc.constantFrom<(object: CredentialObject, ttl: number) => CredentialObject>(
      (object) => ({ ...object, spec: { ...object.spec, disabled: true } }),
      (object) => ({
        ...object,
        metadata: { ...object.metadata, deletionTimestamp: '2026-11-21T10:00:00Z' },
      }),
      (object, seconds) => ({
        ...object,
        spec: { ...object.spec, ttl: Math.min(seconds, Number(object.spec['ttl'])) },
      }),
      (object) => ({ ...object, metadata: { ...object.metadata, finalizers: [] } }),
    );
    const age = fc.nat({ max: 4_000_000 });
    const story = fc.record({ before: ttl, after: ttl, age, later: age });
    fc.assert(
      fc.property(anyStatus, narrowing, story, (status, narrow, { before, after, age, later }) => {
        const object = withStatus({ ...status });
        const wide = { ...object, spec: { ...object.spec, ttl: before } };
        const was = judge(recordOf(wide), parents, created + age);
        const is = judge(recordOf(narrow(wide, after)), parents, created + age + later);
        return !is.live || (was.live && is.end <= was.end);
      }),
      { numRuns: 1000 },
    );
  });

  it('never throws', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (spec, status) => {
        const object = { ...base.leaf, spec, status } as unknown as CredentialObject;
        return !judge(recordOf(object), parents).live;
      }),
    );
  });
});
