import { exportJWK, generateKeyPair, type JWK } from 'jose';
import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { silentLogger } from '../../logger.ts';
import { IssuerKeys, KeysUnavailable, keySetURL, type ReadFrom } from './key-sets.ts';

const url = 'https://issuer.example.com';
const [one, two] = await Promise.all(
  ['one', 'two'].map(async (kid): Promise<JWK> => {
    const { publicKey } = await generateKeyPair('ES256', { extractable: true });
    return { ...(await exportJWK(publicKey)), kid };
  }),
);

function start({
  jwksURI,
  place = `${url}/keys`,
}: {
  readonly jwksURI?: string;
  readonly place?: string;
} = {}) {
  const clock = new FakeClock(0);
  const state = {
    keys: [one] as unknown[],
    failure: undefined as Error | undefined,
    reads: [] as string[],
    elsewhere: [] as string[],
  };
  const read = async (from: string, { isElsewhere }: ReadFrom) => {
    state.reads.push(from);
    if (isElsewhere === true) state.elsewhere.push(from);
    if (state.failure !== undefined) throw state.failure;
    return from.endsWith('openid-configuration') ? { issuer: url, jwks_uri: place } : { keys: state.keys };
  };
  const issuer = { issuer: url, algorithms: ['ES256'], ...(jwksURI === undefined ? {} : { jwksURI }) };
  const keys = new IssuerKeys(issuer, { read, clock, random: () => 0.5, log: silentLogger });
  const find = async (kid: string) =>
    await keys.find({ alg: 'ES256', kid }, { payload: '', signature: '' }).then(
      () => 'found',
      (error: Error) => error.constructor.name,
    );
  return { clock, state, find };
}

describe('the keys of an issuer', () => {
  it('are read where its discovery document says, once for ten minutes and for all that wait', async () => {
    const { clock, state, find } = start();
    expect(await Promise.all(['one', 'one', 'one'].map(find))).toEqual(['found', 'found', 'found']);
    expect(state.reads).toEqual([`${url}/.well-known/openid-configuration`, `${url}/keys`]);
    await clock.advanceAsync(599_000);
    await find('one');
    expect(state.reads).toHaveLength(2);
    await clock.advanceAsync(2_000);
    await find('one');
    expect(state.reads).toHaveLength(4);
  });

  it('are read with more care where the issuer names another host, and not where the settings do', async () => {
    const place = 'https://keys.example.net/keys';
    const named = start({ place });
    expect([await named.find('one'), named.state.elsewhere]).toEqual(['found', [place]]);
    for (const options of [{}, { jwksURI: place }]) {
      const { find, state } = start(options);
      expect([await find('one'), state.elsewhere]).toEqual(['found', []]);
    }
  });

  it('are read at once where the settings say so', async () => {
    const { state, find } = start({ jwksURI: `${url}/elsewhere` });
    expect(await find('one')).toBe('found');
    expect(state.reads).toEqual([`${url}/elsewhere`]);
  });

  it('that it has taken away are not taken ten minutes later', async () => {
    const { clock, state, find } = start();
    await find('one');
    state.keys = [two];
    await clock.advanceAsync(599_000);
    expect(await find('one')).toBe('found');
    await clock.advanceAsync(2_000);
    expect(await find('one')).toBe('JWKSNoMatchingKey');
  });

  it('are read again for a new key, and not for each of 500 unknown ones', async () => {
    const { clock, state, find } = start({ jwksURI: `${url}/keys` });
    await find('one');
    await clock.advanceAsync(31_000);
    state.keys = [one, two];
    expect(await find('two')).toBe('found');
    expect(state.reads).toHaveLength(2);
    for (let count = 0; count < 500; count++)
      expect(await find(`unknown-${count}`)).toBe('JWKSNoMatchingKey');
    expect(state.reads).toHaveLength(2);
    await clock.advanceAsync(31_000);
    await Promise.all(Array.from({ length: 500 }, async (_, count) => await find(`again-${count}`)));
    expect(state.reads).toHaveLength(3);
  });

  it('count for an hour while the issuer does not answer, and then no token is taken', async () => {
    const { clock, state, find } = start();
    await find('one');
    state.failure = new Error('away');
    await clock.advanceAsync(3_500_000);
    expect(await find('one')).toBe('found');
    await clock.advanceAsync(101_000);
    expect(await find('one')).toBe('KeysUnavailable');
    state.failure = undefined;
    await clock.advanceAsync(60_000);
    expect(await find('one')).toBe('found');
  });

  it('that were never read are asked for again later and later', async () => {
    const { clock, state, find } = start({ jwksURI: `${url}/keys` });
    state.failure = new Error('away');
    const times: number[] = [];
    for (let tenth = 0; tenth < 3_000; tenth++) {
      const before = state.reads.length;
      expect(await find('one')).toBe('KeysUnavailable');
      if (state.reads.length > before) times.push(clock.monotonic());
      await clock.advanceAsync(100);
    }
    const pauses = times.slice(1).map((time, index) => time - (times[index] ?? 0));
    expect(pauses.slice(0, 6)).toEqual([800, 1_500, 3_000, 6_000, 12_000, 24_000]);
    expect(pauses.at(-1)).toBe(45_000);
  });

  it.each([
    ['none', {}],
    ['a text', { keys: 'x' }],
    ['more than a hundred', { keys: Array.from({ length: 101 }, () => one) }],
    ['null', null],
  ])('are not known where the set holds %s', async (_, document) => {
    const clock = new FakeClock(0);
    const keys = new IssuerKeys(
      { issuer: url, algorithms: ['ES256'], jwksURI: `${url}/keys` },
      { read: async () => document, clock, random: () => 0, log: silentLogger },
    );
    await expect(keys.find({ alg: 'ES256' }, { payload: '', signature: '' })).rejects.toThrow(
      KeysUnavailable,
    );
  });

  it('are those that check signatures: what else stands in the set does not matter', async () => {
    const { state, find } = start();
    state.keys = [
      null,
      7,
      'x',
      {},
      { kty: 'oct', k: 'AAAA' },
      { ...two, use: 'enc' },
      { ...two, d: 'AAAA' },
      one,
    ];
    expect([await find('one'), await find('two')]).toEqual(['found', 'JWKSNoMatchingKey']);
  });
});

describe('where a discovery document says that keys are', () => {
  it.each([
    ['beside the issuer', url, `${url}/keys`],
    ['at another name', 'https://accounts.google.com', 'https://www.googleapis.com/oauth2/v3/certs'],
    ['at the address of the issuer', 'https://127.0.0.1:8443', 'https://127.0.0.1:8443/keys'],
    ['at a name inside, where the issuer is too', 'https://dex.auth.svc', 'https://dex.auth.svc/keys'],
  ])('may be %s', (_, issuer, jwks_uri) => {
    expect(keySetURL(issuer, { issuer, jwks_uri })).toBe(jwks_uri);
  });

  it.each([
    ['with another issuer', { issuer: 'https://evil.example', jwks_uri: `${url}/keys` }, 'another issuer'],
    ['with no issuer', { jwks_uri: `${url}/keys` }, 'another issuer'],
    ['with no place', { issuer: url }, 'no jwks_uri'],
    ['with a place that is no URL', { issuer: url, jwks_uri: 'keys' }, 'no jwks_uri'],
    ['with a list of places', { issuer: url, jwks_uri: [`${url}/keys`] }, 'no jwks_uri'],
    ['with plain HTTP', { issuer: url, jwks_uri: 'http://issuer.example.com/keys' }, 'no https URL'],
    ['with a file', { issuer: url, jwks_uri: 'file:///etc/passwd' }, 'no https URL'],
    ['with a password', { issuer: url, jwks_uri: 'https://a:b@issuer.example.com/keys' }, 'no https URL'],
    ['with an address', { issuer: url, jwks_uri: 'https://169.254.169.254/keys' }, 'an address'],
    ['with an address of IPv6', { issuer: url, jwks_uri: 'https://[::1]/keys' }, 'an address'],
    ['with an address in one number', { issuer: url, jwks_uri: 'https://2130706433/keys' }, 'an address'],
    ['with localhost', { issuer: url, jwks_uri: 'https://localhost/keys' }, 'an address'],
    ['with localhost as a whole name', { issuer: url, jwks_uri: 'https://localhost./keys' }, 'an address'],
    [
      'with a Service as a whole name',
      { issuer: url, jwks_uri: 'https://kubernetes.default.svc./keys' },
      'an address',
    ],
    ['with a Service', { issuer: url, jwks_uri: 'https://kubernetes.default.svc/keys' }, 'an address'],
    ['that is a list', [], 'another issuer'],
  ])('is not read %s', (_, document, problem) => {
    expect(() => keySetURL(url, document)).toThrow(problem);
  });
});
