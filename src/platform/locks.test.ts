import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import {
  type CredentialParts,
  confirmed,
  created,
  credentialObject,
  plainKeyOf,
  uidOf,
} from '../../test/builders/credential-object.ts';
import { lockRecord, locksOf } from '../../test/builders/lock.ts';
import { formatInstant } from '../api/instant.ts';
import { annotations } from '../api/names.ts';
import { credentialHash } from '../credentials/keys/credential-hash.ts';
import { toLiveRecord } from '../credentials/live-record.ts';
import type { LiveRecord } from '../credentials/record.ts';

const now = created + 60_000;
const at = (seconds: number): string => formatInstant(created + seconds * 1_000);
const live = (parts: CredentialParts = {}): LiveRecord => {
  const object = confirmed(credentialObject(parts));
  return toLiveRecord(object, object.kind);
};

const root = live({ name: 'root', spec: { user: 'ada', groups: ['dev', 'ops'], key: plainKeyOf('root') } });
const middle = live({
  name: 'middle',
  annotations: { [annotations.exchangedIssuer]: 'https://ci', [annotations.exchangedSubject]: 'repo:a' },
  spec: { accessKey: 'root', key: plainKeyOf('middle') },
  status: { accessKeyUID: uidOf('root'), confirmedGroups: ['dev'] },
});
const token = live({
  kind: 'DirectClusterEndpointToken',
  name: 'token',
  spec: { accessKey: 'middle' },
  status: { accessKeyUID: uidOf('middle'), signingKeyID: 'k1', issuedAt: at(30), confirmedGroups: ['dev'] },
});
const ancestors = [middle, root];

const stops = (spec: object, record = token, above: readonly LiveRecord[] = ancestors, hash?: string) =>
  locksOf(spec).find(record, above, { now, ...(hash !== undefined && { hash }) }) !== undefined;

describe('a lock', () => {
  it.each<[string, object]>([
    ['the user', { user: 'ada' }],
    ['a group', { group: 'dev' }],
    ['a group that only a key above carries', { group: 'ops' }],
    ['the requester', { requester: 'alice' }],
    ['the key above', { accessKey: { name: 'middle' } }],
    ['the key at the top, of this UID', { accessKey: { name: 'root', uid: uidOf('root') } }],
    ['the hash of a key above', { credentialHash: credentialHash(plainKeyOf('root')) }],
    ['that hash as spec.key has it', { credentialHash: `sha256:${credentialHash(plainKeyOf('root'))}` }],
    ['the issuer of an exchange above', { exchange: { issuer: 'https://ci' } }],
    ['issuer and subject', { exchange: { issuer: 'https://ci', subject: 'repo:a' } }],
    ['the key that signed it', { signingKeyID: 'k1' }],
    ['everything older', { issuedBefore: at(31) }],
    ['everything older than something above', { issuedBefore: at(1) }],
    ['what is older, of a user', { user: 'ada', issuedBefore: at(31) }],
    ['what is older, below a key', { accessKey: { name: 'root' }, issuedBefore: at(31) }],
  ])('stops a token by %s', (_, spec) => {
    expect(stops(spec)).toBe(true);
  });

  it.each<[string, object]>([
    ['another user', { user: 'bob' }],
    ['the user in another case', { user: 'Ada' }],
    ['a name that only begins the same', { user: 'ad' }],
    ['another group', { group: 'de' }],
    ['a user of the name of a group', { user: 'dev' }],
    ['another requester', { requester: 'ada' }],
    ['a key of this name and another UID', { accessKey: { name: 'root', uid: uidOf('other') } }],
    ['a key of the name of the token', { accessKey: { name: 'token' } }],
    ['another hash', { credentialHash: credentialHash('another') }],
    ['another subject', { exchange: { issuer: 'https://ci', subject: 'repo:b' } }],
    ['another issuer', { exchange: { issuer: 'https://ci/' } }],
    [
      'an issuer with a line break that ends like the subject',
      { exchange: { issuer: 'https://ci\nrepo:a' } },
    ],
    ['another key that signs', { signingKeyID: 'k2' }],
    ['a time before all of them', { issuedBefore: at(0) }],
    ['a lock that has ended', { user: 'ada', expirationTimestamp: formatInstant(now) }],
  ])('does not stop a token by %s', (_, spec) => {
    expect(stops(spec)).toBe(false);
  });

  it('with an end stops until then', () => {
    const locks = locksOf({ user: 'ada', expirationTimestamp: formatInstant(now) });
    expect(locks.find(token, ancestors, { now: now - 1 })).toBeDefined();
    expect(locks.find(token, ancestors, { now })).toBeUndefined();
  });

  it('whose end or time cannot be read stops more, not less', () => {
    expect(stops({ user: 'ada', expirationTimestamp: 'soon' })).toBe(true);
    expect(stops({ user: 'ada', issuedBefore: 'lately' })).toBe(true);
  });

  it('of an unlimited key stops what was made with it, too', () => {
    const made = live({
      name: 'free',
      annotations: { [annotations.createdWith]: `root/${uidOf('root')}` },
      spec: { user: 'robot', key: plainKeyOf('free') },
    });
    expect(stops({ accessKey: { name: 'root' } }, made, [])).toBe(true);
    expect(stops({ accessKey: { name: 'root', uid: uidOf('root') } }, made, [])).toBe(true);
    expect(stops({ accessKey: { name: 'root', uid: uidOf('other') } }, made, [])).toBe(false);
  });

  it('of a hash meets the text that was presented: the predecessor, and not its successor', () => {
    const old = credentialHash('predecessor');
    const previous = { credentialHash: old, serial: 1, expirationTimestamp: at(600), signingKeyID: 'k0' };
    const renewed = live({
      kind: 'DirectClusterEndpointToken',
      name: 'renewed',
      status: { previous, signingKeyID: 'k1', issuedAt: at(30) },
    });
    expect(stops({ credentialHash: old }, renewed, [], old)).toBe(true);
    expect(stops({ credentialHash: old }, renewed, [], renewed.status.credentialHash)).toBe(false);
    expect(stops({ signingKeyID: 'k0' }, renewed, [], old)).toBe(true);
    expect(stops({ signingKeyID: 'k0' }, renewed, [], renewed.status.credentialHash)).toBe(false);
  });

  it('by time compares a predecessor with its own beginning, and one without a record of it as old', () => {
    const old = credentialHash('predecessor');
    const renewedFrom = (issuedAt?: string) =>
      live({
        kind: 'DirectClusterEndpointToken',
        name: 'renewed',
        status: {
          previous: { credentialHash: old, serial: 1, expirationTimestamp: at(600), issuedAt },
          issuedAt: at(30),
        },
      });
    const lock = { user: 'alice', issuedBefore: at(20) };
    expect(stops(lock, renewedFrom(at(25)), [], old)).toBe(false);
    expect(stops(lock, renewedFrom(at(15)), [], old)).toBe(true);
    expect(stops(lock, renewedFrom(), [], old)).toBe(true);
  });

  it('of a hash meets a key that comes back with another object before it is confirmed', () => {
    const object = credentialObject({ name: 'restored', spec: { user: 'ada', key: plainKeyOf('root') } });
    const restored = toLiveRecord(object, 'OwnedAccessKey');
    expect(stops({ credentialHash: credentialHash(plainKeyOf('root')) }, restored, [])).toBe(true);
  });
});

describe('a key that is about to be made for a token', () => {
  const key = {
    identity: { kind: 'user', user: 'ada', groups: ['dev'] },
    exchanged: { issuer: 'https://ci', subject: 'repo:a' },
  } as const;

  it.each<[object, boolean]>([
    [{ user: 'ada' }, true],
    [{ group: 'dev' }, true],
    [{ requester: 'ada' }, true],
    [{ exchange: { issuer: 'https://ci' } }, true],
    [{ exchange: { issuer: 'https://ci', subject: 'repo:b' } }, false],
    [{ user: 'ada', issuedBefore: formatInstant(now) }, false],
    [{ user: 'ada', issuedBefore: formatInstant(now + 1_000) }, true],
    [{ issuedBefore: formatInstant(now + 1_000) }, true],
    [{ user: 'ada', expirationTimestamp: formatInstant(now) }, false],
  ])('is stopped by %j: %s', (spec, expected) => {
    expect(locksOf(spec).findAhead(key, now) !== undefined).toBe(expected);
  });
});

describe('locks together', () => {
  const selector = fc.oneof(
    fc.constantFrom('ada', 'bob').map((user) => ({ user })),
    fc.constantFrom('dev', 'ops', 'x').map((group) => ({ group })),
    fc.constantFrom('root', 'middle', 'x').map((name) => ({ accessKey: { name } })),
    fc.constantFrom('k1', 'k2').map((signingKeyID) => ({ signingKeyID })),
    fc.constant({}),
  );
  const spec = fc
    .tuple(selector, fc.option(fc.integer({ min: -5, max: 40 })), fc.option(fc.integer({ min: 0, max: 120 })))
    .map(([selected, before, end]) => ({
      ...selected,
      ...((before !== null || Object.keys(selected).length === 0) && { issuedBefore: at(before ?? 0) }),
      ...(end !== null && { expirationTimestamp: at(end) }),
    }));

  it('stop below a credential whatever they stop above it', () => {
    fc.assert(
      fc.property(fc.array(spec, { maxLength: 4 }), (specs) => {
        const locks = locksOf(...specs);
        const [top, between, below] = [
          locks.find(root, [], { now }),
          locks.find(middle, [root], { now }),
          locks.find(token, ancestors, { now }),
        ].map((lock) => lock !== undefined);
        return (!top || between === true) && (!between || below === true);
      }),
    );
  });

  it('stop exactly what one of them alone would stop, so that each that goes gives back its own', () => {
    fc.assert(
      fc.property(fc.array(spec, { maxLength: 4 }), (specs) => {
        const alone = specs.filter((one) => stops(one)).length;
        return locksOf(...specs).findAll(token, ancestors, { now }).length === alone;
      }),
    );
  });
});

it('a credential goes through its own locks alone, also among thousands of one issuer', () => {
  const subjects = Array.from({ length: 5_000 }, (_, index) => ({
    exchange: { issuer: 'https://ci', subject: `repo:${index}` },
  }));
  const locks = locksOf(...subjects);
  const found = vi.spyOn(locks.store, 'byIndex');
  expect(locks.findAll(token, ancestors, { now })).toEqual([]);
  expect(Math.max(...found.mock.results.map(({ value }) => value.length))).toBe(0);
});

describe('the version of the locks', () => {
  it('changes with what they stop, and not with what the operator writes of them', () => {
    const locks = locksOf({ user: 'ada' });
    const before = locks.version;
    locks.store.upsert(lockRecord({ user: 'ada' }, 'lock-0', { resourceVersion: '2' }));
    expect(locks.version).toBe(before);
    locks.store.upsert(lockRecord({ user: 'ada' }, 'lock-0', { resourceVersion: '3', generation: 2 }));
    expect(locks.version).not.toBe(before);
  });

  it('changes when a lock is made again under its name', () => {
    const locks = locksOf({ user: 'ada' });
    const before = locks.version;
    locks.store.upsert(lockRecord({ user: 'bob' }, 'lock-0', { uid: 'another', resourceVersion: '4' }));
    expect(locks.version).not.toBe(before);
    expect(locks.find(token, ancestors, { now })).toBeUndefined();
  });
});
