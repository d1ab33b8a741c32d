import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import storedV1 from '../../test/fixtures/fingerprints-v1.json' with { type: 'json' };
import {
  compareFingerprint,
  computeFingerprints,
  type FingerprintAlgorithm,
  fingerprintAlgorithms,
  fingerprintV1,
  type RawSpec,
} from './fingerprint.ts';
import { credentialHash } from './keys/credential-hash.ts';

const of = (spec: RawSpec): string | undefined => computeFingerprints(spec)[0];
const key = 'some-key-of-twenty-characters';

describe('computeFingerprints', () => {
  it('is v1 and the SHA-256 of the canonical JSON of the covered fields', () => {
    const text = `{"groups":["b","a"],"key":"sha256:${credentialHash(key)}","scope":{"projects":[{"project":"p"}]},"user":"alice"}`;
    const spec = { user: 'alice', groups: ['b', 'a'], key, ttl: 60, scope: { projects: [{ project: 'p' }] } };
    expect(computeFingerprints(spec)).toEqual([`v1:${createHash('sha256').update(text).digest('hex')}`]);
  });

  it('of an empty spec never changes between releases', () => {
    expect(of({})).toBe('v1:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a');
  });

  it.each<[string, RawSpec, RawSpec]>([
    ['the plain key and its hash', { key }, { key: `sha256:${credentialHash(key)}` }],
    ['an empty key and none', { key: '' }, {}],
    ['null and absent text', { user: null, accessKey: null }, {}],
    ['empty and absent text', { user: '', team: '', subject: '', server: '', accessKey: '' }, {}],
    ['no groups and an empty list', { groups: [] }, {}],
    ['no rules and an empty list', { rules: [] }, {}],
    ['false and absent flags', { allowPlatformCli: false, clientCert: false }, {}],
    ['a null scope and an empty one', { scope: null }, { scope: {} }],
    [
      'a reference with and without an empty entry',
      { secretRef: { name: 's', key: '' } },
      { secretRef: { name: 's' } },
    ],
    [
      'another order of members',
      { scope: { spaces: [], projects: [] } },
      { scope: { projects: [], spaces: [] } },
    ],
  ])('is the same for %s', (_, one, other) => {
    expect(of(one)).toBe(of(other));
  });

  it.each<[string, RawSpec, RawSpec]>([
    ['no scope and a scope that allows nothing', {}, { scope: null }],
    ['no scope and an empty scope', {}, { scope: {} }],
    ['a rule at spec and in scope', { rules: [{}] }, { scope: { rules: [{}] } }],
    ['user and subject of one name', { user: 'a' }, { subject: 'a' }],
    ['user and team of one name', { user: 'a' }, { team: 'a' }],
    ['a group more', { groups: ['a'] }, { groups: ['a', 'b'] }],
    ['groups that are cut elsewhere', { groups: ['a', 'b'] }, { groups: ['a,b'] }],
    ['another key', { key }, { key: `${key}x` }],
    ['a key and none', { key }, {}],
    [
      'a key and the text of its hash as a key',
      { key: credentialHash(key) },
      { key: `sha256:${credentialHash(key)}` },
    ],
    ['a life of 0 and none for a certificate', { certificateTTL: 0 }, {}],
    [
      'another namespace of the Secret',
      { secretRef: { namespace: 'a', name: 's' } },
      { secretRef: { namespace: 'b', name: 's' } },
    ],
    ['an empty list in a scope and none', { scope: { projects: [] } }, { scope: {} }],
    ['a text and a number', { scope: { a: '1' } }, { scope: { a: 1 } }],
  ])('differs for %s', (_, one, other) => {
    expect(of(one)).not.toBe(of(other));
  });

  it('covers exactly the listed fields', () => {
    const covered =
      'user team subject groups scope rules allowPlatformCli certificateTTL clientCert server virtualClusterInstance secretRef accessKey key';
    const free =
      'disabled ttl ttlAfterLastActivity displayName description type identity oidcProvider oidcLogin parent renewBefore allowedNamespaces identityRefresh';
    for (const field of covered.split(' ')) expect(of({ [field]: ['x'] }), field).not.toBe(of({}));
    for (const field of free.split(' ')) expect(of({ [field]: ['x'] }), field).toBe(of({}));
  });

  it('has none for a spec that is too deep to read', () => {
    expect(computeFingerprints({ scope: JSON.parse('['.repeat(5000) + ']'.repeat(5000)) })).toEqual([]);
  });

  it('never agrees for scopes that differ', () => {
    const scope = fc.oneof(fc.dictionary(fc.string(), fc.jsonValue()), fc.constant({}));
    fc.assert(
      fc.property(scope, scope, (one, other) => {
        const [a, b] = [JSON.parse(JSON.stringify(one)), JSON.parse(JSON.stringify(other))];
        const equal = fc.stringify(sorted(a)) === fc.stringify(sorted(b));
        return (of({ scope: a }) === of({ scope: b })) === equal;
      }),
    );
  });
});

describe('an upgrade to another algorithm', () => {
  /** Version 2 of a release to come: it also covers a field that version 1 does not know. */
  const v2: FingerprintAlgorithm = {
    version: 'v2',
    covered: (spec) => ({ ...fingerprintV1.covered(spec), region: spec['region'] }),
  };
  const stored = { user: 'alice', key };
  const stampedBefore = computeFingerprints(stored, [fingerprintV1])[0];

  it('stamps again where the algorithm before still matches', () => {
    const now = computeFingerprints(stored, [v2, fingerprintV1]);
    expect(now.map((text) => text.slice(0, 3))).toEqual(['v2:', 'v1:']);
    expect(compareFingerprint(now, stampedBefore)).toBe('outdated');
    expect(compareFingerprint(now, now[0])).toBe('current');
  });

  it('does not take over a spec that changed while no one watched', () => {
    expect(
      compareFingerprint(computeFingerprints({ ...stored, user: 'bob' }, [v2, fingerprintV1]), stampedBefore),
    ).toBe('different');
  });

  it('does not accept what was stamped two versions ago', () => {
    const v3 = { ...v2, version: 'v3' };
    expect(compareFingerprint(computeFingerprints(stored, [v3, v2]), stampedBefore)).toBe('different');
  });

  it('confirms nothing without a stamp', () => {
    expect(compareFingerprint([], undefined)).toBe('different');
    expect(compareFingerprint(computeFingerprints(stored), undefined)).toBe('different');
  });

  it('keeps at most the present algorithm and the one before', () => {
    expect(fingerprintAlgorithms.length).toBeLessThanOrEqual(2);
    expect(new Set(fingerprintAlgorithms.map(({ version }) => version)).size).toBe(
      fingerprintAlgorithms.length,
    );
  });
});

/** Another way to the same order as the canonical form: entries as sorted pairs. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const pairs = Object.entries(value).map(([name, member]) => [name, sorted(member)] as const);
  return { pairs: pairs.sort(([one], [other]) => (one < other ? -1 : 1)) };
}

describe('fingerprints that earlier releases stored', () => {
  it.each(storedV1)(
    'of %j stay what they are: another value would end every credential on an upgrade',
    ({ spec, fingerprint: stored }) => {
      expect(computeFingerprints(spec)).toContain(stored);
    },
  );
});
