import { describe, expect, it } from 'vitest';
import { withoutCredentials } from './reviews.ts';

const issuer = 'https://latchkey.example.com';
const key = `lk_${'a1B2c3D'.repeat(7)}`;
const bearer = 'a-key-that-alice-chose-herself';
const jwt = (iss: string) =>
  ['{"alg":"ES256"}', JSON.stringify({ iss }), 'signature']
    .map((part) => Buffer.from(part).toString('base64url'))
    .join('.');

const clean = (text: string) => withoutCredentials(Buffer.from(text), { bearer, issuer }).toString();

describe('a review of tokens', () => {
  it.each([
    ['an access key', key],
    ['a part of one', key.slice(0, 40)],
    ['a token of ours', jwt(issuer)],
    ['the key that the request came with', bearer],
  ])('goes on without %s, and with a text as long in its place', (_, token) => {
    for (const form of [
      (text: string) => JSON.stringify({ spec: { token: text } }),
      (text: string) => `spec:\n  token: ${text}\n`,
      (text: string) => `k8s\0\x0a${String.fromCharCode(text.length)}${text}`,
    ])
      expect(clean(form(token))).toBe(form('x'.repeat(token.length)));
  });

  it.each([
    ['a token of somebody else', jwt('https://kubernetes.default.svc')],
    ['what only looks like a token', 'eyJh.eyJi.c2ln'],
    ['another text', 'a-key-that-bob-chose-herself'],
  ])('goes on as it is with %s', (_, token) => {
    const text = JSON.stringify({ spec: { token, audiences: ['a'] } });
    expect(clean(text)).toBe(text);
  });

  it('keeps every byte that is no text', () => {
    const bytes = Buffer.from([0x6b, 0x38, 0x73, 0, 0xff, 0xfe, 0x80, 0]);
    expect(withoutCredentials(bytes, { bearer, issuer })).toEqual(bytes);
  });
});
