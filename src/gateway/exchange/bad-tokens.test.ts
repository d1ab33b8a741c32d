import { type CryptoKey, exportJWK, FlattenedSign, generateKeyPair, type JWK } from 'jose';
import { describe, expect, it } from 'vitest';
import { credentialObject, recordOf } from '../../../test/builders/credential-object.ts';
import type { TrustedIssuer } from '../../api/trusted-issuer.ts';
import { silentLogger } from '../../logger.ts';
import { Refusal } from '../endpoints/shared/reply.ts';
import { type DecideOptions, decide } from './decide.ts';
import { IssuerKeys } from './key-sets.ts';

const baseURL = 'https://latchkey.example.com';
const url = 'https://issuer.example.com';
const now = Date.UTC(2026, 10, 21, 10);
const seconds = now / 1_000;

const pair = await generateKeyPair('ES256', { extractable: true });
const old = await generateKeyPair('ES256', { extractable: true });
const rsa = await generateKeyPair('RS256', { extractable: true });
const p384 = await generateKeyPair('ES384', { extractable: true });
const publicKey = await exportJWK(pair.publicKey);
const keySet: readonly JWK[] = [
  { ...publicKey, kid: 'one', use: 'sig' },
  { ...(await exportJWK(rsa.publicKey)), kid: 'rsa' },
  { ...(await exportJWK(p384.publicKey)), kid: 'p384' },
  { ...(await exportJWK(old.publicKey)), kid: 'for-encryption', use: 'enc' },
  { ...(await exportJWK(old.privateKey)), kid: 'private' },
  { kty: 'oct', k: 'c2VjcmV0LW9mLXRoaXJ0eS10d28tYnl0ZXMtb3ItbW9yZQ', kid: 'shared' },
];

const login = {
  clientID: 'latchkey-cli',
  username: { claim: 'preferred_username', prefix: '' },
  groups: { claim: 'groups', prefix: '', allowed: ['dev-*', 'admin'] },
  ttl: 600,
};
const issuer: TrustedIssuer = { issuer: url, algorithms: ['ES256', 'RS256'], login };
const keys = new IssuerKeys(
  { ...issuer, jwksURI: `${url}/keys` },
  {
    read: async () => ({ keys: keySet }),
    clock: { monotonic: () => 0 },
    random: () => 0,
    log: silentLogger,
  },
);

const repository = '821093847';
const key = recordOf(
  credentialObject({
    name: 'ci-shop',
    spec: {
      user: 'ci-shop',
      exchange: {
        maxTTL: 900,
        tokens: [
          { issuer: url, claims: { repository_id: repository, ref: 'refs/heads/main' } },
          // Of this issuer no token is read, because the settings do not name it.
          { issuer: 'https://other.example.com', claims: { sub: 'x' } },
        ],
        serviceAccounts: [{ namespace: 'ci', name: 'worker' }],
      },
    },
  }),
);

const reviewed: string[] = [];
const options: DecideOptions = {
  issuers: new Map([[url, { issuer, keys }]]),
  accountTokens: {
    check: ({ claims }) => ({ subject: String(claims['sub']), usableUntil: now + 1 }),
    isOf: async ({ text }) => {
      reviewed.push(text);
      return false;
    },
  },
  index: {
    records: { accessKey: (name: string) => (name === 'ci-shop' ? key : undefined) },
    locks: { findAhead: () => undefined },
    findKey: () => ({
      record: key,
      ancestors: [],
      identity: { kind: 'user', user: 'ci-shop', groups: [] },
      end: Number.POSITIVE_INFINITY,
      ...{ isLimited: false, gates: [], scopes: '', gateOwners: [] },
      impersonation: ['impersonate-user', 'ci-shop'],
    }),
    used: () => undefined,
  },
  baseURL,
  now: () => now,
};

type Claims = Record<string, unknown>;

const pipeline: Claims = {
  iss: url,
  aud: baseURL,
  sub: 'repo:acme/shop:ref:refs/heads/main',
  jti: 'run-1',
  iat: seconds,
  exp: seconds + 300,
  repository_id: repository,
  ref: 'refs/heads/main',
};
const person: Claims = {
  ...{ iss: url, aud: login.clientID, sub: 'alice', jti: 'login-1', iat: seconds, exp: seconds + 300 },
  ...{ preferred_username: 'alice', groups: ['dev-shop'] },
};

interface Signing {
  readonly header?: Record<string, unknown>;
  readonly by?: CryptoKey;
  /** The claims as they are signed. */
  readonly payload?: string;
}

async function sign(claims: Claims, { header = {}, by = pair.privateKey, payload }: Signing = {}) {
  const text = payload ?? JSON.stringify(claims);
  const whole = { alg: 'ES256', kid: 'one', typ: 'JWT', ...header };
  const signed = await new FlattenedSign(Buffer.from(text))
    .setProtectedHeader(whole)
    .sign(by, { crit: { b64: false, exp: true, 'urn:x': true } });
  return `${signed.protected}.${signed.payload}.${signed.signature}`;
}

const encode = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
/** With another header over the same signature, as who has no key can make it. */
const withHeader = async (header: unknown): Promise<string> => {
  const [, payload, signature] = (await sign(pipeline)).split('.');
  return `${encode(header)}.${payload}.${signature}`;
};
const withPayload = async (payload: unknown): Promise<string> => {
  const [header, , signature] = (await sign(pipeline)).split('.');
  return `${header}.${encode(payload)}.${signature}`;
};
const without = (claims: Claims, name: string): Claims =>
  Object.fromEntries(Object.entries(claims).filter(([each]) => each !== name));

async function outcome(token: string, audience?: string, more: object = {}): Promise<string> {
  try {
    const decision = await decide(
      { subjectToken: token, ...(audience === undefined ? {} : { audience }) },
      { ...options, ...more },
    );
    return `accepted for ${decision.maker.user}`;
  } catch (error) {
    if (error instanceof Refusal) return error.answer.code;
    throw error;
  }
}

type Row = readonly [title: string, token: () => Promise<string> | string];
const claims = (title: string, changed: Claims): Row => [title, () => sign({ ...pipeline, ...changed })];
const missing = (name: string): Row => [`without ${name}`, () => sign(without(pipeline, name))];
const signed = (title: string, signing: Signing): Row => [title, () => sign(pipeline, signing)];

const notAccepted: readonly Row[] = [
  // Form.
  ['that is empty', () => ''],
  ['that is a word', () => 'token'],
  ['that is an access key', () => `lk_${'a'.repeat(49)}`],
  ['of two parts', async () => (await sign(pipeline)).split('.').slice(0, 2).join('.')],
  ['without a signature', async () => `${(await sign(pipeline)).split('.').slice(0, 2).join('.')}.`],
  ['of five parts', () => 'a.b.c.d.e'],
  ['of four parts', async () => `${await sign(pipeline)}.x`],
  ['of 64 KiB', () => sign({ ...pipeline, padding: 'x'.repeat(65_536) })],
  ['with a space before it', async () => ` ${await sign(pipeline)}`],
  ['with a space behind it', async () => `${await sign(pipeline)} `],
  ['with a line break in it', async () => (await sign(pipeline)).replace('.', '.\n')],
  ['with padding', async () => `${await sign(pipeline)}==`],
  ['in base64', async () => `${(await sign(pipeline)).slice(0, -1)}+`],
  ['with a signature in another way to write it', async () => otherEnding(await sign(pipeline))],
  ['in quotes', async () => `"${await sign(pipeline)}"`],
  ['with Bearer before it', async () => `Bearer ${await sign(pipeline)}`],
  ['that lost a character', async () => (await sign(pipeline)).slice(0, -1)],
  ['with a header that is no JSON', () => withHeader('{')],
  ['with a header that is a list', () => withHeader([])],
  ['with a header that is null', () => withHeader('null')],
  ['with a header that says alg twice', () => withHeader('{"alg":"ES256","alg":"none","kid":"one"}')],
  ['with claims that are no JSON', () => withPayload('{"iss"')],
  ['with claims that are a list', () => withPayload([pipeline])],
  ['with claims that are a text', () => withPayload('"x"')],
  ['with claims that are no UTF-8', async () => notUTF8(await sign(pipeline))],
  ['with a claim twice', () => sign({}, { payload: twice('repository_id', '"1"') })],
  ['with aud twice', () => sign({}, { payload: twice('aud', '"https://elsewhere.example"') })],
  ['with a claim twice, once escaped', () => sign({}, { payload: twice('\\u0073ub', '"x"') })],
  ['that nests deeper than it needs', () => sign({ ...pipeline, a: [[[[[[[[[1]]]]]]]]] })],
  ['with thousands of values', () => sign({ ...pipeline, a: Array.from({ length: 2_000 }, () => 1) })],
  ['within another token', async () => encode(await sign(pipeline)).concat('.e30.AA')],
  // Header.
  ['with alg none and no signature', async () => withNone('')],
  ['with alg none and the signature', () => withHeader({ alg: 'none', kid: 'one' })],
  ['with alg None', () => withHeader({ alg: 'None', kid: 'one' })],
  ['without alg', () => withHeader({ kid: 'one' })],
  ['with alg as a list', () => withHeader({ alg: ['ES256'], kid: 'one' })],
  ['with alg in small letters', () => withHeader({ alg: 'es256', kid: 'one' })],
  ['with alg HS256, signed with the public key', () => withSecret(JSON.stringify(publicKey))],
  ['with alg HS256, signed with nothing', () => withSecret('0')],
  ['with alg HS256 and the shared key of the set', () => withHeader({ alg: 'HS256', kid: 'shared' })],
  [
    'with an algorithm that the issuer does not have',
    () => sign(pipeline, { header: { alg: 'ES384', kid: 'p384' }, by: p384.privateKey }),
  ],
  ['with PS256 where RS256 is listed', () => withHeader({ alg: 'PS256', kid: 'rsa' })],
  signed('with a kid of another type of key', { header: { kid: 'rsa' } }),
  signed('with an unknown kid', { header: { kid: 'nope' } }),
  signed('with a kid that is a path', { header: { kid: '../../dev/null' } }),
  signed('with an empty kid', { header: { kid: '' } }),
  ['with a kid that is a number', () => withHeader({ alg: 'ES256', kid: 1 })],
  ['with a kid that is an object', () => withHeader({ alg: 'ES256', kid: { one: 1 } })],
  signed('with a kid in other letters', { header: { kid: 'One' } }),
  signed('signed by an old key under the kid of the present one', { by: old.privateKey }),
  signed('with the kid of a key for encryption', { header: { kid: 'for-encryption' }, by: old.privateKey }),
  signed('with the kid of a private key in the set', { header: { kid: 'private' }, by: old.privateKey }),
  signed('without kid, signed by an old key', { header: { kid: undefined }, by: old.privateKey }),
  signed('with jku', { header: { jku: 'https://evil.example/keys' } }),
  signed('with jku of the issuer', { header: { jku: `${url}/keys` } }),
  signed('with x5u', { header: { x5u: 'https://evil.example/cert' } }),
  signed('with a key of its own', { header: { jwk: publicKey } }),
  signed('with cty', { header: { cty: 'JWT' } }),
  ['with crit', () => withHeader({ alg: 'ES256', kid: 'one', crit: ['exp'], exp: 1 })],
  ['with an unknown crit', () => withHeader({ alg: 'ES256', kid: 'one', crit: ['urn:x'], 'urn:x': 1 })],
  ['with an empty crit', () => withHeader({ alg: 'ES256', kid: 'one', crit: [] })],
  ['with b64', () => withHeader({ alg: 'ES256', kid: 'one', b64: false, crit: ['b64'] })],
  ['with zip', () => withHeader({ alg: 'ES256', kid: 'one', zip: 'DEF' })],
  ['with enc', () => withHeader({ alg: 'ES256', kid: 'one', enc: 'A128GCM' })],
  signed('of the type at+jwt, an access token', { header: { typ: 'at+jwt' } }),
  signed('of the type logout+jwt', { header: { typ: 'logout+jwt' } }),
  signed('of the type dpop+jwt', { header: { typ: 'dpop+jwt' } }),
  signed('of an empty type', { header: { typ: '' } }),
  ['of a type that is a list', () => withHeader({ alg: 'ES256', kid: 'one', typ: ['JWT', 'x'] })],
  // Signature.
  ['with a changed claim', () => withPayload({ ...pipeline, jti: 'run-2' })],
  ['with a later end', () => withPayload({ ...pipeline, exp: seconds + 301 })],
  ['with the signature of another', async () => withSignatureOf(await sign({ ...pipeline, jti: 'x' }))],
  ['with a signature of zeros', async () => withSignature(Buffer.alloc(64))],
  ['with a short signature', async () => withSignature(Buffer.alloc(8, 1))],
  ['with a signature in DER', async () => withSignature(Buffer.from('3006020101020101', 'hex'))],
  // Audience.
  missing('aud'),
  claims('for another audience', { aud: 'https://elsewhere.example' }),
  claims('for the owner of the repository, as GitHub has it', { aud: 'https://github.com/acme' }),
  claims('for us and for another', { aud: [baseURL, 'https://elsewhere.example'] }),
  claims('for another and for us', { aud: ['https://elsewhere.example', baseURL] }),
  claims('for us twice', { aud: [baseURL, baseURL] }),
  claims('for no one', { aud: [] }),
  claims('for null', { aud: null }),
  claims('for us and null', { aud: [baseURL, null] }),
  claims('for us in a list in a list', { aud: [[baseURL]] }),
  claims('for us with a slash', { aud: `${baseURL}/` }),
  claims('for us in capitals', { aud: baseURL.toUpperCase() }),
  claims('for us with a path', { aud: `${baseURL}/oauth/token` }),
  claims('for us without https', { aud: baseURL.replace('https', 'http') }),
  claims('for us with a space', { aud: `${baseURL} ` }),
  claims('for the client of people', { aud: login.clientID }),
  claims('for an object', { aud: { [baseURL]: true } }),
  // Times.
  missing('exp'),
  missing('iat'),
  claims('that ended', { iat: seconds - 400, exp: seconds - 31 }),
  claims('that ended to the second', { iat: seconds - 400, exp: seconds - 30 }),
  claims('that ends before it was issued', { exp: seconds - 1 }),
  claims('that ends when it was issued', { exp: seconds }),
  claims('issued in the future', { iat: seconds + 31, exp: seconds + 300 }),
  claims('issued in the future and valid now', { iat: seconds + 31, nbf: seconds, exp: seconds + 300 }),
  claims('issued long ago', { iat: seconds - 631, exp: seconds + 300 }),
  claims('issued too long ago to the second', { iat: seconds - 630, exp: seconds + 300 }),
  claims('issued years ago, for ever', { iat: 1, exp: 9_999_999_999 }),
  claims('not valid yet', { nbf: seconds + 31 }),
  claims('with an end as text', { exp: String(seconds + 300) }),
  claims('with an end as date', { exp: '2027-01-01T00:00:00Z' }),
  claims('with an end that is null', { exp: null }),
  claims('with an end that is true', { exp: true }),
  claims('with a negative end', { exp: -1 }),
  claims('with an end of zero', { exp: 0 }),
  claims('with an end beyond all dates', { exp: 1e300 }),
  claims('with an end in milliseconds, beyond all dates', { exp: now * 10 }),
  ['with an endless end', () => sign({}, { payload: twice('exp', '1e999', false) })],
  claims('with an end in a list', { exp: [seconds + 300] }),
  claims('issued at a text', { iat: String(seconds) }),
  claims('issued at null', { iat: null }),
  claims('valid from a text', { nbf: 'now' }),
  claims('valid from null', { nbf: null }),
  // Who.
  missing('iss'),
  missing('sub'),
  claims('with an empty issuer', { iss: '' }),
  claims('with a list of issuers', { iss: [url] }),
  claims('with an empty subject', { sub: '' }),
  claims('with a subject that is a number', { sub: 7 }),
  claims('with a subject that is a list', { sub: ['x'] }),
  claims('with a subject that is null', { sub: null }),
  claims('with a subject with a line break', { sub: 'a\nb' }),
  claims('with a subject with a zero byte', { sub: 'a\u0000b' }),
  claims('with a subject that turns its direction', { sub: 'a\u202eb' }),
  claims('with half a character in its subject', { sub: 'a\ud800' }),
  claims('with a very long subject', { sub: 'x'.repeat(1_025) }),
  claims('with an ID that is a number', { jti: 1 }),
  claims('with an empty ID', { jti: '' }),
  claims('with an ID that is null', { jti: null }),
  claims('with a very long ID', { jti: 'x'.repeat(1_025) }),
];

const ofNoTrustedIssuer: readonly Row[] = [
  claims('of an unknown issuer', { iss: 'https://evil.example' }),
  claims('of the issuer with a slash', { iss: `${url}/` }),
  claims('of the issuer in capitals', { iss: url.toUpperCase() }),
  claims('of the issuer with a path', { iss: `${url}/tenant` }),
  claims('of the issuer without https', { iss: url.replace('https', 'http') }),
  claims('of the issuer with a space', { iss: `${url} ` }),
  claims('of the issuer with a port', { iss: `${url}:443` }),
  claims('of the issuer with a Cyrillic letter', { iss: url.replace('e', '\u0435') }),
  claims('of an issuer that the key names and the settings do not', {
    iss: 'https://other.example.com',
    sub: 'x',
  }),
  claims('of an address inside', { iss: 'https://169.254.169.254' }),
  claims('of __proto__', { iss: '__proto__' }),
  claims('that says it is of a ServiceAccount', {
    iss: 'https://kubernetes.default.svc',
    sub: 'system:serviceaccount:ci:worker',
  }),
];

const takenByNoKey: readonly Row[] = [
  missing('repository_id'),
  missing('ref'),
  claims('of another repository', { repository_id: '821093848' }),
  claims('with the repository as a number', { repository_id: Number(repository) }),
  claims('with the repository in a list', { repository_id: [repository] }),
  claims('with the repository in an object', { repository_id: { value: repository } }),
  claims('with the repository true', { repository_id: true }),
  claims('with the repository null', { repository_id: null }),
  claims('with a space behind the repository', { repository_id: `${repository} ` }),
  claims('with a space before the repository', { repository_id: ` ${repository}` }),
  claims('with a zero before the repository', { repository_id: `0${repository}` }),
  claims('with full-width digits', {
    repository_id: '\uff18\uff12\uff11\uff10\uff19\uff13\uff18\uff14\uff17',
  }),
  claims('with an empty repository', { repository_id: '' }),
  claims('with a part of the repository', { repository_id: repository.slice(0, 5) }),
  claims('with a pattern', { repository_id: '*' }),
  claims('with the claim in capitals', { repository_id: undefined, REPOSITORY_ID: repository }),
  claims('with the claim nested', { repository_id: undefined, claims: { repository_id: repository } }),
  claims('of another branch', { ref: 'refs/heads/main2' }),
  claims('of a branch in capitals', { ref: 'refs/heads/MAIN' }),
  claims('of a tag', { ref: 'refs/tags/main' }),
  claims('of a branch with a Cyrillic letter', { ref: 'refs/heads/m\u0430in' }),
  claims('of a branch with a letter in two parts', { ref: 'refs/heads/ma\u0131\u0307n' }),
  claims('of a branch with an invisible character', { ref: 'refs/heads/main\u200b' }),
  claims('of a branch with a line break', { ref: 'refs/heads/main\n' }),
  claims('of a pull request', { ref: 'refs/pull/1/merge' }),
];

function twice(name: string, value: string, keepsBoth = true): string {
  const text = JSON.stringify(keepsBoth ? pipeline : without(pipeline, name));
  return `${text.slice(0, -1)},"${name}":${value}}`;
}

/** The last character holds bits that no byte has: several ways to write it. */
function otherEnding(token: string): string {
  const last = token.at(-1) ?? '';
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return token.slice(0, -1) + letters[letters.indexOf(last) ^ 1];
}

function notUTF8(token: string): string {
  const [header, , signature] = token.split('.');
  const bytes = Buffer.concat([Buffer.from('{"iss":"'), Buffer.from([0xff]), Buffer.from('"}')]);
  return `${header}.${bytes.toString('base64url')}.${signature}`;
}

const withNone = (signature: string): string => `${encode({ alg: 'none' })}.${encode(pipeline)}.${signature}`;

async function withSecret(secret: string): Promise<string> {
  const { createHmac } = await import('node:crypto');
  const text = `${encode({ alg: 'HS256', kid: 'one' })}.${encode(pipeline)}`;
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`;
}

async function withSignature(signature: Buffer): Promise<string> {
  const [header, payload] = (await sign(pipeline)).split('.');
  return `${header}.${payload}.${signature.toString('base64url')}`;
}

const withSignatureOf = async (other: string): Promise<string> =>
  await withSignature(Buffer.from(other.split('.')[2] ?? '', 'base64url'));

describe('a token of a pipeline', () => {
  it.each<Row>([
    claims('as its issuer makes it', {}),
    claims('with the audience in a list', { aud: [baseURL] }),
    claims('with further claims', { actor: 'octocat', run_id: '7', environment: null }),
    claims('without an ID', { jti: undefined }),
    claims('within the difference of clocks', { iat: seconds + 29, nbf: seconds + 29, exp: seconds + 60 }),
    claims('that has just ended, by our clock', { iat: seconds - 300, exp: seconds - 29 }),
    claims('of nearly ten minutes ago', { iat: seconds - 629, exp: seconds + 300 }),
    signed('without kid', { header: { kid: undefined } }),
    signed('without type', { header: { typ: undefined } }),
    signed('with the type in small letters', { header: { typ: 'jwt' } }),
    signed('with a thumbprint of a certificate', { header: { x5t: 'abc' } }),
    signed('signed with RSA', { header: { alg: 'RS256', kid: 'rsa' }, by: rsa.privateKey }),
  ])('%s is taken', async (_, token) => {
    expect(await outcome(await token(), 'ci-shop')).toBe('accepted for ci-shop');
  });

  it.each(notAccepted)('%s is not accepted', async (_, token) => {
    expect(await outcome(await token(), 'ci-shop')).toBe('ERR_EXCHANGE_TOKEN');
  });

  it.each(ofNoTrustedIssuer)('%s is refused, and its issuer asked nothing', async (_, token) => {
    expect(await outcome(await token(), 'ci-shop')).toBe('ERR_EXCHANGE_ISSUER');
  });

  it.each(takenByNoKey)('%s is taken by no key', async (_, token) => {
    expect(await outcome(await token(), 'ci-shop')).toBe('ERR_EXCHANGE_TARGET');
  });

  it('that is good is taken by no other key, and is no login', async () => {
    const token = await sign(pipeline);
    expect(await outcome(token, 'another')).toBe('ERR_EXCHANGE_TARGET');
    expect(await outcome(token)).toBe('ERR_EXCHANGE_TOKEN');
  });

  it('is bad in more than 120 ways', () => {
    expect(notAccepted.length + ofNoTrustedIssuer.length + takenByNoKey.length).toBeGreaterThan(120);
  });

  it('has the API server asked about an account that the key names, and no other', async () => {
    reviewed.length = 0;
    const of = async (account: string) =>
      await sign({ ...pipeline, iss: 'https://kubernetes.default.svc', sub: account });
    const [named, other] = [
      await of('system:serviceaccount:ci:worker'),
      await of('system:serviceaccount:ci:another'),
    ];
    expect(await outcome(named, 'ci-shop')).toBe('ERR_EXCHANGE_ISSUER');
    expect(await outcome(other, 'ci-shop')).toBe('ERR_EXCHANGE_ISSUER');
    expect(await outcome(named, 'another')).toBe('ERR_EXCHANGE_ISSUER');
    expect(reviewed).toEqual([named]);
  });
});

it('a token of a ServiceAccount is taken by a key that still names it when the API server has answered', async () => {
  const sub = 'system:serviceaccount:ci:worker';
  const token = await sign({ ...pipeline, iss: 'https://kubernetes.default.svc', sub });
  let present: typeof key | undefined = key;
  const index = { ...options.index, records: { accessKey: () => present } };
  const good = { index, accountTokens: { ...options.accountTokens, isOf: async () => true } };
  expect(await outcome(token, 'ci-shop', good)).toBe('accepted for ci-shop');
  const isOf = async () => {
    present = undefined;
    return true;
  };
  const late = { index, accountTokens: { ...options.accountTokens, isOf } };
  expect(await outcome(token, 'ci-shop', late)).toBe('ERR_EXCHANGE_TARGET');
});

describe('a token of a person', () => {
  it('is a login', async () => {
    expect(await outcome(await sign(person))).toBe('accepted for alice');
  });

  it.each<[string, Claims, string]>([
    ['for the base URL', { aud: baseURL }, 'ERR_EXCHANGE_TOKEN'],
    ['for another client', { aud: 'another' }, 'ERR_EXCHANGE_TOKEN'],
    ['for two clients', { aud: [login.clientID, 'another'] }, 'ERR_EXCHANGE_TOKEN'],
    ['made for another client', { azp: 'another' }, 'ERR_EXCHANGE_LOGIN'],
    ['without a user name', { preferred_username: undefined }, 'ERR_EXCHANGE_LOGIN'],
    ['with an empty user name', { preferred_username: '' }, 'ERR_EXCHANGE_LOGIN'],
    ['with a number as user name', { preferred_username: 1 }, 'ERR_EXCHANGE_LOGIN'],
    ['with the user system:admin', { preferred_username: 'system:admin' }, 'ERR_EXCHANGE_LOGIN'],
    ['with the user of a team', { preferred_username: 'team:ops' }, 'ERR_EXCHANGE_LOGIN'],
    ['with a user of ours', { preferred_username: 'management.platform.sh:x' }, 'ERR_EXCHANGE_LOGIN'],
    ['with a user beyond ASCII', { preferred_username: 'al\u0456ce' }, 'ERR_EXCHANGE_LOGIN'],
    ['with a user with a space behind', { preferred_username: 'alice ' }, 'ERR_EXCHANGE_LOGIN'],
    ['with a very long user', { preferred_username: 'a'.repeat(257) }, 'ERR_EXCHANGE_LOGIN'],
    ['with groups in an object', { groups: { a: 'dev-a' } }, 'ERR_EXCHANGE_LOGIN'],
    ['with a number among its groups', { groups: ['dev-a', 1] }, 'ERR_EXCHANGE_LOGIN'],
    ['with a group in a list', { groups: [['dev-a']] }, 'ERR_EXCHANGE_LOGIN'],
    ['with 101 groups', { groups: Array.from({ length: 101 }, (_, i) => `x${i}`) }, 'ERR_EXCHANGE_LOGIN'],
    [
      'with 17 groups that count',
      { groups: Array.from({ length: 17 }, (_, i) => `dev-${i}`) },
      'ERR_EXCHANGE_LOGIN',
    ],
  ])('%s is none', async (_, changed, code) => {
    expect(await outcome(await sign({ ...person, ...changed }))).toBe(code);
  });

  it('is taken by no key', async () => {
    expect(await outcome(await sign(person), 'ci-shop')).toBe('ERR_EXCHANGE_TOKEN');
  });
});
