import { expect, it } from 'vitest';
import { childKey, exchangedName, exchangedTTL, exchangeRecord, loginKey } from './exchanged-key.ts';

const token = {
  issuer: 'https://issuer.example.com',
  subject: 'repo:acme/shop',
  tokenID: 'run-1',
  usableUntil: Date.UTC(2026, 10, 21, 10, 0, 0, 1),
  text: 'header.claims.signature',
};
const { tokenID: _, ...withoutID } = token;

it('a token has one name, which is that of an object', () => {
  expect(exchangedName(token)).toMatch(/^exchanged-[0-9a-f]{40}$/);
  expect(exchangedName({ ...token, text: 'a.b.c', subject: 'x' })).toBe(exchangedName(token));
  expect(exchangedName({ ...withoutID, text: 'header.claims.other' })).toBe(exchangedName(withoutID));
});

it.each([
  ['another ID', { ...token, tokenID: 'run-2' }],
  ['another issuer', { ...token, issuer: 'https://issuer.example.com/' }],
  ['no ID', withoutID],
  ['its own text as ID', { ...token, tokenID: 'header.claims' }],
  ['a part of the issuer in its ID', { ...token, issuer: 'https://issuer.example.co', tokenID: 'mrun-1' }],
])('a token with %s has another name', (_title, other) => {
  expect(exchangedName(other)).not.toBe(exchangedName(token));
});

it('what is recorded of a token is when it was good, and never its text', () => {
  const record = exchangeRecord(token);
  expect(record).toEqual({
    'management.platform.sh/exchanged-issuer': token.issuer,
    'management.platform.sh/exchanged-subject': token.subject,
    'management.platform.sh/exchanged-until': '2026-11-21T10:00:01Z',
  });
  const objects = [childKey(token, 'ci', 9), loginKey(token, { user: 'a', groups: [], identity: {} }, 9)];
  expect(JSON.stringify([record, ...objects])).not.toMatch(/signature|claims/);
});

it.each([
  [900, undefined, 900],
  [900, 60, 60],
  [900, 901, 900],
])('of at most %s seconds and a wish for %s it lives %s', (maxTTL, wish, ttl) => {
  expect(exchangedTTL(maxTTL, wish)).toBe(ttl);
});
