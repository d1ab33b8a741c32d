import { generateKeyPairSync } from 'node:crypto';
import { calculateJwkThumbprint } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import { createKeySet, discoveryDocument } from './discovery.ts';
import { generateSigningKey, type SigningKey } from './signing-key.ts';
import { fromSecretData, keptEntries, type SecretData, toSecretData } from './signing-key-secret.ts';

const dates = { createdAt: 1000, activeFrom: 2000, maxLife: 86_400 };
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const kids = (keys: readonly SigningKey[]): string[] => keys.map(({ kid }) => kid);
const longest = 7_776_000;

let one: SigningKey;
let two: SigningKey;
let data: SecretData;
beforeAll(async () => {
  [one, two] = await Promise.all([
    generateSigningKey(dates),
    generateSigningKey({ ...dates, activeFrom: 3000 }),
  ]);
  data = toSecretData([one, two]);
});

const without = (...names: string[]): SecretData =>
  Object.fromEntries(Object.entries(data).filter(([name]) => !names.includes(name)));

describe('generateSigningKey', () => {
  it('names a P-256 key by its RFC 7638 thumbprint', async () => {
    expect(one.publicJwk).toMatchObject({ kty: 'EC', crv: 'P-256' });
    expect(one.kid).toBe(await calculateJwkThumbprint({ ...one.publicJwk, use: 'sig' }));
    expect(one.kid).not.toBe(two.kid);
  });
});

describe('toSecretData and fromSecretData', () => {
  it('keep the keys, one entry each', async () => {
    expect(Object.keys(data).sort()).toEqual([`${one.kid}.pem`, `${two.kid}.pem`, 'keys.json'].sort());
    const { keys, revoked, unusable } = await fromSecretData(data, longest);
    expect(keys.map(({ privateKey: _, ...key }) => key)).toEqual(
      expect.arrayContaining([one, two].map(({ privateKey: _, ...key }) => key)),
    );
    expect([revoked, unusable]).toEqual([[], []]);
    expect(toSecretData(keys)).toEqual(data);
  });

  it('keep the dates under the names that earlier releases read', () => {
    const stored = JSON.parse(Buffer.from(data['keys.json'] ?? '', 'base64').toString());
    expect(stored[one.kid]).toEqual({ createdAt: 1000, activeFrom: 2000, longestLife: 86_400 });
  });

  it('do not depend on the order of the keys', () => {
    expect(JSON.stringify(toSecretData([two, one]))).toBe(JSON.stringify(data));
  });

  it('hold private keys as PKCS#8', () => {
    expect(Buffer.from(data[`${one.kid}.pem`] ?? '', 'base64').toString()).toMatch(
      /^-----BEGIN PRIVATE KEY-----\n/,
    );
  });

  it('take a key whose entry was removed as revoked', async () => {
    const stored = await fromSecretData(without(`${one.kid}.pem`), longest);
    expect(kids(stored.keys)).toEqual([two.kid]);
    expect(stored.revoked).toEqual([one.kid]);
  });

  it('take every key as revoked when only the dates are left', async () => {
    const stored = await fromSecretData(without(`${one.kid}.pem`, `${two.kid}.pem`), longest);
    expect(stored).toEqual({ keys: [], revoked: expect.arrayContaining([one.kid, two.kid]), unusable: [] });
  });

  it.each([undefined, {}])('find nothing in %j', async (secret) => {
    expect(await fromSecretData(secret, longest)).toEqual({ keys: [], revoked: [], unusable: [] });
  });

  it.each(['', 'garbage', '[]', '{"x":7}'])(
    'keep keys without dates (%j) published and due for rotation',
    async (text) => {
      const { keys } = await fromSecretData({ ...data, 'keys.json': base64(text) }, longest);
      expect(kids(keys).sort()).toEqual([one.kid, two.kid].sort());
      expect(keys[0]).toMatchObject({ createdAt: 0, activeFrom: 0, maxLife: longest });
    },
  );

  it.each<[string, () => string]>([
    ['no PEM', () => 'garbage'],
    ['an empty text', () => ''],
    [
      'an RSA key',
      () =>
        generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({
          type: 'pkcs8',
          format: 'pem',
        }) as string,
    ],
    [
      'a key of another curve',
      () =>
        generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey.export({
          type: 'pkcs8',
          format: 'pem',
        }) as string,
    ],
    [
      'another key than its name says',
      () => two.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    ],
    [
      'a public key',
      () =>
        generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({
          type: 'spki',
          format: 'pem',
        }) as string,
    ],
  ])('do not use an entry with %s', async (_, pem) => {
    const stored = await fromSecretData({ ...data, [`${one.kid}.pem`]: base64(pem()) }, longest);
    expect(kids(stored.keys)).toEqual([two.kid]);
    expect(stored).toMatchObject({ unusable: [`${one.kid}.pem`], revoked: [one.kid] });
  });
});

describe('keptEntries', () => {
  const spoilt = { 'a.pem': base64('garbage'), 'keys.json': base64('{}') };

  it('keeps an entry without a usable key under a name that is not read', async () => {
    const kept = keptEntries(spoilt, ['a.pem']);
    expect(kept).toEqual({ 'a.pem.unreadable': base64('garbage') });
    expect(await fromSecretData({ ...data, ...kept }, longest)).toMatchObject({ revoked: [], unusable: [] });
  });

  it('keeps what was kept before, and nothing else', () => {
    const before = { ...data, 'b.pem.unreadable': base64('b') };
    expect(keptEntries(before, [])).toEqual({ 'b.pem.unreadable': base64('b') });
    expect(keptEntries({ ...before, ...spoilt }, ['a.pem'])).toEqual({
      'a.pem.unreadable': base64('garbage'),
      'b.pem.unreadable': base64('b'),
    });
    expect(keptEntries(undefined, [])).toEqual({});
  });

  it('keeps nothing under a name that is too long for a Secret', () => {
    const name = `${'k'.repeat(240)}.pem`;
    expect(keptEntries({ [name]: base64('garbage') }, [name])).toEqual({});
  });

  it('keeps no more than the newest twenty, and nothing large', () => {
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`${n}.pem`, base64(`${n}`)]));
    const kept = keptEntries({ ...many, 'large.pem': 'A'.repeat(20_000) }, [
      ...Object.keys(many),
      'large.pem',
    ]);
    expect(Object.keys(kept)).toEqual(Array.from({ length: 20 }, (_, n) => `${n + 10}.pem.unreadable`));
  });
});

describe('createKeySet', () => {
  it('publishes public keys only, in a fixed order', () => {
    const published = createKeySet([two, one]);
    expect(published).toEqual(createKeySet([one, two]));
    for (const jwk of published.keys) {
      expect(Object.keys(jwk).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
      expect(jwk).toMatchObject({ kty: 'EC', crv: 'P-256', use: 'sig', alg: 'ES256' });
    }
    expect(published.keys.map(({ kid }) => kid).sort()).toEqual([one.kid, two.kid].sort());
  });
});

describe('discoveryDocument', () => {
  it('points from the issuer to the keys', () => {
    expect(discoveryDocument('https://platform.example.com')).toEqual({
      issuer: 'https://platform.example.com',
      jwks_uri: 'https://platform.example.com/openid/v1/jwks',
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256'],
      claims_supported: ['iss', 'aud', 'sub', 'groups', 'iat', 'nbf', 'exp', 'jti'],
    });
  });
});
