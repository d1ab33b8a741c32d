import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cpuMs } from '../../../../test/fakes/cpu-time.ts';
import { generateAccessKey } from '../../../credentials/keys/access-key.ts';
import { credentialHash } from '../../../credentials/keys/credential-hash.ts';
import { cleanManifest, kappOriginal, lastApplied, withoutCredentials } from './secrets.ts';

/** Found in no other text. */
const mark = 'MARKED-SECRET-0123456789';

/** A credential in each place that can hold one. */
const places: Readonly<Record<string, object>> = {
  'spec.key': { spec: { key: mark } },
  'a key of another type': { spec: { key: { value: [mark] } } },
  'status.token': { status: { token: mark } },
  'status.kubeConfig': { status: { kubeConfig: `users:\n- token: ${mark}\n` } },
  connectorData: { spec: { identity: { connectorData: mark } } },
  idToken: { spec: { oidcLogin: { idToken: mark } } },
  accessToken: { spec: { oidcLogin: { accessToken: mark } } },
  refreshToken: { spec: { oidcLogin: { refreshToken: mark } } },
  'last-applied': {
    metadata: {
      annotations: { [lastApplied]: JSON.stringify({ spec: { key: mark }, status: { token: mark } }) },
    },
  },
  'the original of kapp': {
    metadata: {
      annotations: { [kappOriginal]: JSON.stringify({ spec: { key: mark }, status: { token: mark } }) },
    },
  },
  'an original of kapp that cannot be read': {
    metadata: { annotations: { [kappOriginal]: `{"spec":{"key":"${mark}` } },
  },
  'an original of kapp in a last-applied': {
    metadata: {
      annotations: {
        [lastApplied]: JSON.stringify({
          metadata: { annotations: { [kappOriginal]: JSON.stringify({ spec: { key: mark } }) } },
        }),
      },
    },
  },
  'a last-applied that cannot be read': {
    metadata: { annotations: { [lastApplied]: `{"spec":{"key":"${mark}` } },
  },
  'a last-applied in a last-applied': {
    metadata: {
      annotations: {
        [lastApplied]: JSON.stringify({
          metadata: { annotations: { [lastApplied]: JSON.stringify({ spec: { key: mark } }) } },
        }),
      },
    },
  },
};

const wraps: Readonly<Record<string, (object: object) => object>> = {
  'an object': (object) => object,
  'a list': (object) => ({ kind: 'OwnedAccessKeyList', items: [{}, object] }),
  'an event of a watch': (object) => ({ type: 'MODIFIED', object }),
  'a Table': (object) => ({ kind: 'Table', rows: [{ cells: ['a'], object }] }),
  'a Table in an event': (object) => ({
    type: 'ADDED',
    object: { kind: 'Table', rows: [{ cells: [], object }] },
  }),
};

const anyText = fc.string().filter((text) => !text.includes(mark));
const harmless = fc.record(
  {
    kind: fc.constantFrom('OwnedAccessKey', 'DirectClusterEndpointToken', 'PartialObjectMetadata'),
    metadata: fc.record({ name: anyText, labels: fc.dictionary(anyText, anyText) }),
    spec: fc.record({ displayName: anyText, ttl: fc.integer(), identity: fc.record({ email: anyText }) }),
    status: fc.record({ keyID: anyText, conditions: fc.array(fc.record({ message: anyText })) }),
  },
  { requiredKeys: ['kind'] },
);

describe('a body that leaves the gateway', () => {
  it.each(Object.keys(wraps))('holds no credential in any place: %s', (wrap) => {
    fc.assert(
      fc.property(harmless, fc.subarray(Object.keys(places), { minLength: 1 }), (object, chosen) => {
        const whole = chosen.reduce((part: object, place) => merged(part, places[place] ?? {}), object);
        expect(JSON.stringify(whole)).toContain(mark);
        const body = wraps[wrap]?.(whole);
        return !JSON.stringify(withoutCredentials(body)).includes(mark);
      }),
    );
  });

  it.each(Object.keys(wraps))('keeps everything else: %s', (wrap) => {
    fc.assert(
      fc.property(harmless, (object) => {
        const body = wraps[wrap]?.(object);
        expect(withoutCredentials(body)).toEqual(body);
      }),
    );
  });

  it('is the same when it is cleaned again', () => {
    const whole = Object.values(places).reduce((part: object, place) => merged(part, place), {});
    const once = withoutCredentials(whole);
    expect(withoutCredentials(once)).toEqual(once);
  });

  it('shows a key by its hash', () => {
    const hash = `sha256:${credentialHash(mark)}`;
    expect(withoutCredentials({ spec: { key: mark } })).toEqual({ spec: { key: hash } });
    expect(withoutCredentials({ spec: { key: hash } })).toEqual({ spec: { key: hash } });
  });

  it('that is a refusal quotes no known credential, and nothing that looks like one', () => {
    const key = generateAccessKey(new Uint8Array(32).fill(3));
    const token = `eyJ${'a'.repeat(20)}.${'b'.repeat(20)}.${'c'.repeat(20)}`;
    const message = `spec.ttl: Invalid value: "${mark}", "${key}", "${token}"`;
    const status = {
      kind: 'Status',
      message,
      details: { causes: [{ message, field: 'spec.ttl' }] },
      code: 422,
    };
    const cleaned = withoutCredentials(status, [mark]);
    expect(cleaned).toMatchObject({ code: 422, details: { causes: [{ field: 'spec.ttl' }] } });
    for (const secret of [mark, key, token]) expect(JSON.stringify(cleaned)).not.toContain(secret);
    expect(cleaned['message']).toContain('spec.ttl: Invalid value: "redacted-by-latchkey"');
  });

  it.each([
    ['in JSON', (secret: string) => JSON.stringify({ spec: { identity: { connectorData: secret } } })],
    [
      'in JSON of Go',
      (secret: string) =>
        JSON.stringify(secret)
          .replaceAll('<', '\\u003c')
          .replaceAll('>', '\\u003e')
          .replaceAll('&', '\\u0026'),
    ],
    ['as it is', (secret: string) => secret],
  ])('that is a refusal quotes no credential with characters that are escaped: %s', (_, quote) => {
    const secret = `{"refresh":"${mark}","at":"<https://idp/?a&b>"}\n`;
    const message = `spec: Invalid value: ${quote(secret)}: no`;
    const cleaned = withoutCredentials({ kind: 'Status', message }, [secret]);
    expect(cleaned['message']).not.toContain(mark);
  });

  it.each([
    ['in a path', (token: string) => `status.token.${token}: bad`],
    ['after other letters', (token: string) => `x_${token}`],
    ['without a signature', (token: string) => token.replace(/\.c+$/, '.')],
    ['at the end of a sentence', (token: string) => `no ${token}.`],
  ])('quotes no token %s', (_, quote) => {
    const token = `eyJ${'a'.repeat(20)}.${'b'.repeat(20)}.${'c'.repeat(20)}`;
    const { message } = withoutCredentials({ kind: 'Status', message: quote(token) });
    expect(message).toContain('redacted-by-latchkey');
    expect(message).not.toMatch(/a{20}|b{20}|c{20}/);
  });

  it.each(['eyJ', 'lk_', 'eyJaaaaaaaa.', 'a.', 'aaaaaaaaaaa'])(
    'takes the time that its length takes: %j again and again',
    (part) => {
      const status = { kind: 'Status', message: part.repeat(200_000) };
      expect(cpuMs(() => withoutCredentials(status))).toBeLessThan(1_000);
    },
  );

  it('has the text that kubectl wrote down byte by byte where nothing was in it', () => {
    const text = '{"spec":{"ttl": 5},  "kind":"OwnedAccessKey"}\n';
    expect(cleanManifest(text)).toBe(text);
  });

  it('does not trust the text where it names a field twice', () => {
    const text = '{"spec":{"key":"a-plain-key-of-mine-000","key":"sha256:00"}}';
    expect(cleanManifest(text)).not.toContain('a-plain-key');
  });
});

type Fields = Record<string, unknown>;

function merged(one: object, other: object): object {
  const result: Fields = { ...one };
  for (const [name, value] of Object.entries(other)) {
    const before = result[name];
    const isNested = typeof value === 'object' && typeof before === 'object' && before !== null;
    result[name] = isNested ? merged(before, value as object) : value;
  }
  return result;
}
