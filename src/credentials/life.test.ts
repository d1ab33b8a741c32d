import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { created, credentialObject, liveRecord, recordOf } from '../../test/builders/credential-object.ts';
import { formatInstant } from '../api/instant.ts';
import {
  endOfAccessKey,
  endOfIssued,
  expiringSoonAt,
  lifeOfAccessKey,
  lifeOfIssued,
  operatorEndOfAccessKey,
} from './life.ts';
import type { CredentialKind } from './record.ts';

const key = { user: 'alice', key: 'some-key-of-twenty-characters' };
const unconfirmed = (spec: object) => recordOf(credentialObject({ spec: { ...key, ...spec } }));
const activityInterval = 60_000;
const day = 86_400;
const atSecond = (seconds: number) => created + seconds * 1000;
const idle = { ttl: day, ttlAfterLastActivity: true };

/** Confirmed with one life time, and changed to another since. */
const changed = (before: object, now: object, status: object = {}) => {
  const { status: confirmation } = liveRecord({ spec: { ...key, ...before } });
  return { ...unconfirmed(now), status: { ...confirmation, ...status } };
};
const end = (record: ReturnType<typeof changed>, now = created, ownActivity?: number) =>
  endOfAccessKey(record, now, { activityInterval, ...(ownActivity !== undefined && { ownActivity }) });

describe('lifeOfAccessKey', () => {
  it.each([
    ['no ttl', {}, undefined, { confirmedTTL: 0, shortened: false }],
    ['ttl 0', { ttl: 0 }, undefined, { confirmedTTL: 0, shortened: false }],
    ['a ttl', { ttl: day }, undefined, { confirmedTTL: day, notAfter: atSecond(day), shortened: false }],
    ['an idle ttl', idle, undefined, { confirmedTTL: day, shortened: false }],
    ['no ttl under a policy', {}, 60, { confirmedTTL: 60, notAfter: atSecond(60), shortened: true }],
    [
      'a ttl above the policy',
      { ttl: day },
      60,
      { confirmedTTL: 60, notAfter: atSecond(60), shortened: true },
    ],
    [
      'a ttl below the policy',
      { ttl: 60 },
      day,
      { confirmedTTL: 60, notAfter: atSecond(60), shortened: false },
    ],
    [
      'an idle ttl under a policy',
      idle,
      7 * day,
      { confirmedTTL: day, notAfter: atSecond(7 * day), shortened: false },
    ],
    ['a policy of 0', { ttl: 60 }, 0, { confirmedTTL: 60, notAfter: atSecond(60), shortened: false }],
    [
      'a ttl that cannot be read',
      { ttl: 'x' },
      undefined,
      { confirmedTTL: 1, notAfter: created, shortened: false },
    ],
  ])('with %s', (_, spec, maxLife, life) => {
    expect(lifeOfAccessKey(unconfirmed(spec), maxLife)).toEqual(life);
  });
});

describe('endOfAccessKey', () => {
  it.each([
    ['no ttl', {}, {}, Number.POSITIVE_INFINITY],
    ['a ttl', { ttl: day }, { ttl: day }, atSecond(day)],
    ['a ttl that was shortened', { ttl: day }, { ttl: 60 }, atSecond(60)],
    ['a ttl that was set where there was none', {}, { ttl: 60 }, atSecond(60)],
    ['a ttl that was lengthened and not confirmed', { ttl: 60 }, { ttl: day }, atSecond(60)],
    ['a ttl that was removed and not confirmed', { ttl: 60 }, {}, atSecond(60)],
    ['an idle end', idle, idle, atSecond(day) + activityInterval],
    ['a fixed end that became idle and was not confirmed', { ttl: 60 }, { ...idle, ttl: day }, atSecond(60)],
    ['an idle end that became fixed', idle, { ttl: day }, atSecond(day)],
    ['an idle end that was removed and not confirmed', idle, {}, atSecond(day)],
    ['a ttl that cannot be read', { ttl: day }, { ttl: 'x' }, created],
  ])('with %s', (_, before, now, expected) => {
    expect(end(changed(before, now))).toBe(expected);
  });

  it.each([
    [
      'the stored last use',
      { lastActivity: atSecond(100) },
      undefined,
      atSecond(100 + day) + activityInterval,
    ],
    [
      'the own last use, when it is later',
      { lastActivity: atSecond(100) },
      atSecond(200),
      atSecond(200 + day) + activityInterval,
    ],
    [
      'the stored last use, when the own is older',
      { lastActivity: atSecond(300) },
      atSecond(200),
      atSecond(300 + day) + activityInterval,
    ],
    [
      'now, when the last use is in the future',
      { lastActivity: atSecond(9 * day) },
      undefined,
      atSecond(1000 + day) + activityInterval,
    ],
    [
      'the hard end, when it is earlier',
      { lastActivity: atSecond(100), notAfter: atSecond(200) },
      undefined,
      atSecond(200),
    ],
  ])('of an idle key counts from %s', (_, status, ownActivity, expected) => {
    expect(end(changed(idle, idle, status), atSecond(1000), ownActivity)).toBe(expected);
  });

  it('is unknown before anything is confirmed', () => {
    expect(endOfAccessKey(unconfirmed({ ttl: 60 }), created, { activityInterval })).toBeUndefined();
  });

  it.each([
    ['an unreadable confirmed life', { confirmedTTL: 'x' }],
    ['an unreadable hard end', { notAfter: 'x' }],
  ])('is past with %s', (_, status) => {
    const record = liveRecord({ spec: { ...key, ttl: day }, status });
    expect(endOfAccessKey(record, created, { activityInterval })).toBeLessThanOrEqual(created);
  });
});

describe('operatorEndOfAccessKey', () => {
  it.each([
    ['no ttl', {}, Number.POSITIVE_INFINITY],
    ['a ttl', { ttl: day }, atSecond(day)],
    ['an idle ttl', idle, atSecond(day) + 2 * activityInterval],
    ['a ttl that cannot be read', { ttl: 'x' }, created],
  ])('with %s', (_, spec, expected) => {
    expect(operatorEndOfAccessKey(unconfirmed(spec), created, { activityInterval })).toBe(expected);
  });

  it('is never later than the policy allows', () => {
    expect(operatorEndOfAccessKey(unconfirmed(idle), created, { activityInterval, maxLife: 60 })).toBe(
      atSecond(60),
    );
  });

  it('never comes before a verifier with the same knowledge refuses', () => {
    const spec = fc.record({ ttl: fc.nat({ max: 3_153_600_000 }), ttlAfterLastActivity: fc.boolean() });
    fc.assert(
      fc.property(spec, fc.nat({ max: 10 * day }), fc.nat({ max: 10 * day }), (life, used, now) => {
        const record = liveRecord({
          spec: { ...key, ...life },
          status: { lastActivity: formatInstant(atSecond(used)) },
        });
        const options = { activityInterval };
        return (
          operatorEndOfAccessKey(record, atSecond(now), options) >=
          (endOfAccessKey(record, atSecond(now), options) ?? Number.NaN)
        );
      }),
    );
  });
});

describe('expiringSoonAt', () => {
  it.each([
    [0, 1000, 800],
    [0, 20 * day * 1000, 16 * day * 1000],
    [0, 365 * day * 1000, 358 * day * 1000],
    [0, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
  ])('of a life from %i to %i is %i', (start, finish, soon) => {
    expect(expiringSoonAt(start, finish)).toBe(soon);
  });
});

const token: CredentialKind = 'DirectClusterEndpointToken';
const kubeConfig: CredentialKind = 'VirtualClusterInstanceKubeConfig';
const of = (kind: CredentialKind, spec: object) => recordOf(credentialObject({ kind, spec: { ...spec } }));

describe('lifeOfIssued', () => {
  it.each([
    [
      'a token without ttl',
      of(token, {}),
      {},
      { confirmedTTL: day, notAfter: atSecond(day), shortened: false },
    ],
    [
      'a token with ttl 0',
      of(token, { ttl: 0 }),
      {},
      { confirmedTTL: day, notAfter: atSecond(day), shortened: false },
    ],
    [
      'a token with a ttl',
      of(token, { ttl: 60 }),
      {},
      { confirmedTTL: 60, notAfter: atSecond(60), shortened: false },
    ],
    [
      'a token with the longest ttl',
      of(token, { ttl: 90 * day }),
      {},
      { confirmedTTL: 90 * day, notAfter: atSecond(90 * day), shortened: false },
    ],
    [
      'a token above it',
      of(token, { ttl: 90 * day + 1 }),
      {},
      { confirmedTTL: 90 * day, notAfter: atSecond(90 * day), shortened: true },
    ],
    [
      'a policy above it',
      of(token, { ttl: 91 * day }),
      { maxLife: 99 * day },
      { confirmedTTL: 90 * day, notAfter: atSecond(90 * day), shortened: true },
    ],
    [
      'a policy below the ttl',
      of(token, { ttl: 60 }),
      { maxLife: 30 },
      { confirmedTTL: 30, notAfter: atSecond(30), shortened: true },
    ],
    [
      'a parent that ends before',
      of(token, {}),
      { parentEnd: atSecond(60) + 999 },
      { confirmedTTL: day, notAfter: atSecond(60), shortened: false },
    ],
    [
      'a parent that never ends',
      of(token, {}),
      { parentEnd: Number.POSITIVE_INFINITY },
      { confirmedTTL: day, notAfter: atSecond(day), shortened: false },
    ],
    [
      'a ttl that cannot be read',
      of(token, { ttl: 'x' }),
      {},
      { confirmedTTL: 0, notAfter: created, shortened: false },
    ],
    [
      'a kubeconfig without certificateTTL',
      of(kubeConfig, { ttl: 5 }),
      {},
      { confirmedTTL: day, notAfter: atSecond(day), shortened: false },
    ],
    [
      'a kubeconfig with certificateTTL 0',
      of(kubeConfig, { certificateTTL: 0 }),
      {},
      { confirmedTTL: 365 * day, notAfter: atSecond(365 * day), shortened: false },
    ],
    [
      'a kubeconfig under a policy',
      of(kubeConfig, { certificateTTL: 0 }),
      { maxLife: day },
      { confirmedTTL: day, notAfter: atSecond(day), shortened: true },
    ],
  ])('of %s', (_, record, options, life) => {
    expect(lifeOfIssued(record, { issuedAt: created, ...options })).toEqual(life);
  });

  it('ends at a whole second', () => {
    expect(lifeOfIssued(of(token, { ttl: 60 }), { issuedAt: created + 999 }).notAfter).toBe(atSecond(60));
  });
});

describe('endOfIssued', () => {
  it.each([
    ['unchanged', { ttl: 600 }, atSecond(600)],
    ['shortened', { ttl: 60 }, atSecond(60)],
    ['lengthened', { ttl: 6000 }, atSecond(600)],
    ['unreadable', { ttl: 'x' }, created],
  ])('with a ttl that is %s', (_, spec, expected) => {
    const { status } = liveRecord({ kind: token, spec: { ttl: 600 } });
    expect(endOfIssued({ ...of(token, spec), status })).toBe(expected);
  });

  it.each(['notAfter', 'issuedAt', 'confirmedTTL'])('is unknown without status.%s', (field) => {
    expect(endOfIssued(liveRecord({ kind: token, status: { [field]: null } }))).toBeUndefined();
  });
});
