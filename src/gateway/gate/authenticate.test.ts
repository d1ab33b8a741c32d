import { describe, expect, it } from 'vitest';
import { verdictFor } from '../../../test/builders/gateway-stage.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { generateAccessKey } from '../../credentials/keys/access-key.ts';
import { credentialHash } from '../../credentials/keys/credential-hash.ts';
import type { Refused, Verdict } from '../index/verdict.ts';
import { authenticate } from './authenticate.ts';

const now = Date.parse('2026-11-25T10:00:00Z');
const key = generateAccessKey(new Uint8Array(32).fill(7));

/** An index that knows one credential, and the hashes that it was asked for. */
function indexWith(found?: Verdict | Refused, problem?: string) {
  const asked: string[] = [];
  const index = {
    find: (hash: string) => {
      asked.push(hash);
      return found;
    },
    problem: () => problem,
  };
  return { asked, index };
}

const answerTo = (bearer: string, { index }: Pick<ReturnType<typeof indexWith>, 'index'>) =>
  authenticate(
    { rawHeaders: ['Authorization', `Bearer ${bearer}`], headers: {} },
    { index, clock: new FakeClock(now) },
  );

const problemOf = (bearer: string, found?: Refused): string => {
  const answer = answerTo(bearer, indexWith(found));
  if (!('status' in answer)) throw new Error('it was let through');
  expect(answer).toMatchObject({ status: 401, code: 'ERR_UNAUTHENTICATED' });
  expect(answer.headers.join(': ')).toContain('www-authenticate: Bearer');
  const { message } = JSON.parse(answer.body) as { message: string };
  expect(message).not.toContain(bearer);
  return message;
};

const reasons = [
  'Disabled',
  'Deleting',
  'Expired',
  'Unconfirmed',
  'AccessKeyNotLive',
  'AccessKeyGone',
] as const;

describe('who holds a whole access key', () => {
  it.each<[Refused['reason'] | undefined, RegExp]>([
    [undefined, /is not known/],
    ['Disabled', /is disabled/],
    ['Deleting', /is being deleted/],
    ['Expired', /has expired/],
    ['Unconfirmed', /is not confirmed yet/],
    ['AccessKeyNotLive', /parent of the access key is disabled, expired or not confirmed/],
    ['AccessKeyGone', /parent of the access key was deleted/],
    ['DuplicateKey', /is not accepted: DuplicateKey/],
  ])('is told what is wrong with it: %s', (reason, expected) => {
    expect(problemOf(key, reason && { reason })).toMatch(expected);
  });
});

/** A token whose claims say this. */
const tokenOf = (claims: unknown): string =>
  `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2ln`;
const ofKind = (kind: string) => ({ 'management.platform.sh': { object: { kind } } });
const kubeConfigClaims = ofKind('VirtualClusterInstanceKubeConfig');
const tokenClaims = ofKind('DirectClusterEndpointToken');

describe('who holds a token that has ended by its own words', () => {
  it.each([
    ['a token', tokenClaims, /: the token has expired\b/],
    [
      'a kubeconfig',
      kubeConfigClaims,
      /: the token in the kubeconfig has expired: fetch the kubeconfig again/,
    ],
  ])('is told so, whether it is known or not: %s', (_, claims, expected) => {
    const bearer = tokenOf({ ...claims, exp: now / 1_000 });
    expect(problemOf(bearer)).toMatch(expected);
    for (const reason of reasons) expect(problemOf(bearer, { reason })).toBe(problemOf(bearer));
  });

  it.each<[string, unknown]>([
    ['has not ended', { ...kubeConfigClaims, exp: now / 1_000 + 1 }],
    ['is of a kind that does not exist', ofKind('Token')],
    ['has no end', kubeConfigClaims],
    ['says its end in words', { ...kubeConfigClaims, exp: '2020-01-01T00:00:00Z' }],
    ['is of another issuer', { exp: 1 }],
    ['is of a kind that is not issued as a token', { ...ofKind('OwnedAccessKey'), exp: 1 }],
    ['is null', null],
    ['is a list', [1]],
  ])('is not taken for expired when it %s', (_, claims) => {
    expect(problemOf(tokenOf(claims))).toBe(problemOf('a-key-that-alice-chose-herself'));
  });

  it.each(['..', 'a.b.c', 'a.b.c.d', `${tokenOf({ ...tokenClaims, exp: 1 })}.more`])(
    'is no token at all: %s',
    (bearer) => {
      expect(problemOf(bearer)).toBe(problemOf('a-key-that-alice-chose-herself'));
    },
  );
});

describe('who holds a token of a ServiceAccount', () => {
  it.each([
    ['has not ended', { exp: now / 1_000 + 1 }],
    ['has ended', { exp: 1 }],
    ['has no end', {}],
  ])('is told where to go, whether it is known or not: it %s', (_, claims) => {
    const bearer = tokenOf({ iss: 'https://a', sub: 'system:serviceaccount:default:ci', ...claims });
    expect(problemOf(bearer)).toMatch(/token of a ServiceAccount .* to the own address of that target/);
    for (const reason of reasons) expect(problemOf(bearer, { reason })).toBe(problemOf(bearer));
  });

  it.each([
    ['is of a user', { sub: 'alice' }],
    ['names another account first', { sub: 'a system:serviceaccount:default:ci' }],
    ['has no word for a subject', { sub: ['system:serviceaccount:default:ci'] }],
  ])('is not meant by a token that %s', (_, claims) => {
    expect(problemOf(tokenOf(claims))).toBe(problemOf('a-key-that-alice-chose-herself'));
  });
});

describe('who sends a credential in another form', () => {
  it.each([
    ['a token for clusters', tokenOf({ ...tokenClaims, exp: now / 1_000 + 1 }), /with the role platform-cli/],
    ['in double quotes', `"${key}"`, /is in quotes/],
    ['in single quotes', `'${key}'`, /is in quotes/],
    ['in base64', Buffer.from(key).toString('base64'), /is an access key in base64/],
    ['in base64 with a line break', Buffer.from(`${key}\n`).toString('base64'), /is an access key in base64/],
  ])('is told what it is, whether it is known or not: %s', (_, bearer, expected) => {
    expect(problemOf(bearer)).toMatch(expected);
    for (const reason of reasons) expect(problemOf(bearer, { reason })).toBe(problemOf(bearer));
  });
});

describe('who holds anything else', () => {
  it.each(['eyJhbGciOiJFUzI1NiJ9.e30.c2ln', 'a-key-that-alice-chose-herself'])(
    'is told the same, whether it is known or not: %s',
    (bearer) => {
      const known = reasons.map((reason) => problemOf(bearer, { reason }));
      expect(new Set([problemOf(bearer), ...known]).size).toBe(1);
    },
  );
});

describe('a look-up', () => {
  it('is one of the SHA-256', () => {
    const verdict = verdictFor();
    const { asked, index } = indexWith(verdict);
    expect(answerTo(key, { index })).toEqual({ hash: credentialHash(key), verdict });
    expect(asked).toEqual([credentialHash(key)]);
  });

  it.each([
    ['a key with a typing error', `${key.slice(0, -1)}_`],
    ['the prefix alone', 'lk_'],
    ['more than any credential has', 'a'.repeat(8_193)],
  ])('is not made for %s, also while the index is stale', (_, bearer) => {
    const stale = indexWith(verdictFor(), 'stale');
    for (const stage of [indexWith(verdictFor()), stale]) {
      expect(answerTo(bearer, stage)).toMatchObject({ status: 401 });
      expect(stage.asked).toEqual([]);
    }
  });

  it('is not made while the index is stale: everyone gets 503', () => {
    const stage = indexWith(verdictFor(), 'stale');
    expect(answerTo(key, stage)).toMatchObject({ status: 503, code: 'ERR_INDEX_STALE' });
    expect(stage.asked).toEqual([]);
  });
});
