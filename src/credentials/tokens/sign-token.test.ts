import { createLocalJWKSet, decodeProtectedHeader, type JWTVerifyOptions, jwtVerify } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import { tokenClaims } from './claims.ts';
import { createKeySet } from './discovery.ts';
import { hasCriticalScopes, maxTokenBytes, signToken, tokenTooLarge } from './sign-token.ts';
import { generateSigningKey, type SigningKey } from './signing-key.ts';

const issuer = 'https://platform.example.com';
const now = new Date(1_795_255_200_000);
const claims = tokenClaims({
  issuer,
  audience: [`${issuer}/clusters`],
  identity: { kind: 'user', user: 'alice', groups: ['dev'] },
  object: { kind: 'DirectClusterEndpointToken', name: 'deploy', uid: 'uid-1' },
  serial: 1,
  scopes: [],
  issuedAt: now.getTime(),
  notAfter: now.getTime() + 60_000,
});

let key: SigningKey;
let other: SigningKey;
const dates = { createdAt: 0, activeFrom: 0, maxLife: 86_400 };
beforeAll(async () => {
  key = await generateSigningKey(dates);
  other = await generateSigningKey(dates);
});

const verify = (
  token: string,
  keys: readonly SigningKey[],
  currentDate = now,
  others: Pick<JWTVerifyOptions, 'audience' | 'crit'> = {},
) =>
  jwtVerify(token, createLocalJWKSet({ keys: createKeySet(keys).keys.map((jwk) => ({ ...jwk })) }), {
    issuer,
    audience: `${issuer}/clusters`,
    algorithms: ['ES256'],
    typ: 'JWT',
    currentDate,
    ...others,
  });

describe('signToken', () => {
  it('is verified with the published keys and carries the claims', async () => {
    const { payload, protectedHeader } = await verify(signToken(claims, key), [other, key]);
    expect(protectedHeader).toEqual({ alg: 'ES256', typ: 'JWT', kid: key.kid });
    expect(payload).toEqual(claims);
  });

  it('marks no narrow token whose audiences are taken by none but those who enforce its scope', () => {
    const scopes = [{ rules: [{ verbs: ['get'] }] }];
    const narrow = (...aud: readonly string[]) =>
      hasCriticalScopes({
        ...claims,
        aud,
        'management.platform.sh': { ...claims['management.platform.sh'], scopes },
      });
    expect(narrow(`${issuer}/cluster/edge/scoped`)).toBe(false);
    expect(narrow(`${issuer}/cluster/edge/scoped`, `${issuer}/cluster/far/scoped`)).toBe(false);
    // A verifier without a look at scopes may take the base URL alone.
    expect(narrow(`${issuer}/cluster/edge/scoped`, issuer)).toBe(true);
    expect(narrow(`${issuer}/cluster/edge/scoped`, `${issuer}/cluster/far`)).toBe(true);
    expect(narrow()).toBe(true);
    expect(narrow(`${issuer}/cluster/scoped`)).toBe(true);
    expect(narrow(`${issuer}/project/cluster/virtualcluster/scoped`)).toBe(true);
    expect(narrow('https://other.example.com/cluster/edge/scoped')).toBe(true);
    expect(narrow(`${issuer}/cluster/edge`)).toBe(true);
  });

  const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }];
  const withScopes = (...scopes: readonly object[]) =>
    signToken({ ...claims, 'management.platform.sh': { ...claims['management.platform.sh'], scopes } }, key);

  it.each([
    ['a rule', [{ rules }]],
    ['a project', [{ projects: [{ project: 'web' }] }]],
    ['a rule of a key above', [{ clusters: [{ cluster: '*' }] }, { rules }]],
    ['a list that no release knows', [{ others: {} }]],
  ])('is refused by a verifier that knows no scopes when it is for %s', async (_, scopes) => {
    const token = withScopes(...scopes);
    await expect(verify(token, [key])).rejects.toThrow(/"management.platform.sh\/scopes" is not recognized/);
    const crit = { 'management.platform.sh/scopes': true };
    const { protectedHeader } = await verify(token, [key], now, { crit });
    expect(protectedHeader.crit).toEqual(['management.platform.sh/scopes']);
  });

  it.each([
    ['a cluster', [{ clusters: [{ cluster: 'a' }], rules: [] }]],
    ['a role', [{ roles: [{ role: 'platform-cli' }] }]],
    ['nothing at all', [{}]],
  ])('is for every verifier when it is for %s', async (_, scopes) => {
    expect((await verify(withScopes(...scopes), [key])).protectedHeader).toEqual({
      alg: 'ES256',
      typ: 'JWT',
      kid: key.kid,
    });
  });

  it('is not verified once its key is revoked', async () => {
    await expect(verify(signToken(claims, key), [other])).rejects.toThrow(/no applicable key/);
  });

  it('is not verified at its end, nor for another audience', async () => {
    const token = signToken(claims, key);
    await expect(verify(token, [key], new Date(now.getTime() + 60_000))).rejects.toThrow(/"exp"/);
    await expect(verify(token, [key], now, { audience: `${issuer}/cluster/a` })).rejects.toThrow(/"aud"/);
  });

  it('is verified whatever the lengths of the two integers in the signature are', async () => {
    const tokens = Array.from({ length: 600 }, () => signToken(claims, key));
    const lengths = new Set(
      tokens.map((token) => Buffer.from(token.split('.')[2] ?? '', 'base64url').length),
    );
    expect(lengths).toEqual(new Set([64]));
    for (const token of tokens) await expect(verify(token, [key])).resolves.toBeDefined();
  });

  it('never shows the private key', () => {
    const token = signToken(claims, key);
    const secret = key.privateKey.export({ format: 'jwk' })['d'] as string;
    expect(JSON.stringify(decodeProtectedHeader(token)) + JSON.stringify(key)).not.toContain(secret);
  });
});

describe('tokenTooLarge', () => {
  it.each([
    [maxTokenBytes, false],
    [maxTokenBytes + 1, true],
  ])('answers for %i bytes', (bytes, expected) => {
    expect(tokenTooLarge('a'.repeat(bytes))).toBe(expected);
  });
});
