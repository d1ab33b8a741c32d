import { describe, expect, it } from 'vitest';
import {
  isTargetSecretOf,
  parseTargetAccess,
  renderTargetMark,
  renderTargetSecret,
} from './target-access.ts';

const owner = { kind: 'Cluster', uid: 'u1' } as const;
const now = Date.UTC(2026, 10, 21);
const hour = 3_600_000;
const access = {
  ...{ server: 'https://vc.example.com/', ca: '-----BEGIN CERTIFICATE-----\nAA\n', token: 'a.b.c' },
  ...{ issued: now, expires: now + 24 * hour, isPlatform: false },
};
const secret = renderTargetSecret(owner, access);
type Secret = typeof secret;

describe('the Secret of a target', () => {
  it('is named for its owner, and names the owner and the end of its token', () => {
    expect(secret.metadata).toEqual({
      namespace: 'latchkey-targets',
      name: 'latchkey-target-u1',
      labels: {
        'management.platform.sh/owner-kind': 'Cluster',
        'management.platform.sh/owner-uid': 'u1',
        'management.platform.sh/purpose': 'target',
      },
      annotations: {
        'management.platform.sh/token-issued': '2026-11-21T00:00:00Z',
        'management.platform.sh/token-expires': '2026-11-22T00:00:00Z',
        'management.platform.sh/is-platform': 'false',
      },
    });
  });

  it('has exactly the entries that the gateway reads', () => {
    const texts = Object.entries(secret.data).map(([entry, text]) => [
      entry,
      Buffer.from(text, 'base64').toString(),
    ]);
    expect(Object.fromEntries(texts)).toEqual({ server: access.server, 'ca.crt': access.ca, token: 'a.b.c' });
  });

  it('is ours before it has access', () => {
    const mark = renderTargetMark(owner);
    expect(mark).not.toHaveProperty('data');
    expect(isTargetSecretOf(mark, owner)).toBe(true);
    expect(parseTargetAccess(mark)).toBeUndefined();
  });

  it('gives back what was put into it', () => {
    expect(isTargetSecretOf(secret, owner)).toBe(true);
    expect(parseTargetAccess(secret)).toEqual(access);
  });

  const labelled = (change: object): Secret => ({
    ...secret,
    metadata: { ...secret.metadata, labels: { ...secret.metadata.labels, ...change } },
  });
  it.each([
    ['has another type', { ...secret, type: 'kubernetes.io/tls' }],
    ['names another object', labelled({ 'management.platform.sh/owner-uid': 'u2' })],
    ['names another kind', labelled({ 'management.platform.sh/owner-kind': 'VirtualClusterInstance' })],
    ['has another purpose', labelled({ 'management.platform.sh/purpose': 'credential' })],
    ['has no labels', { ...secret, metadata: { name: 'latchkey-target-u1' } }],
    ['is none', undefined],
  ])('is not ours when it %s', (_what, other) => {
    expect(isTargetSecretOf(other, owner)).toBe(false);
  });

  it.each([
    ['the platform, where it says so', 'true', true],
    ['the platform, where it says nothing, as before', undefined, true],
    ['another cluster, where it says so', 'false', false],
  ])('is for %s', (_, said, isPlatform) => {
    const marks = { ...secret.metadata.annotations, 'management.platform.sh/is-platform': said };
    const altered = { ...secret, metadata: { ...secret.metadata, annotations: marks } };
    expect(parseTargetAccess(altered)).toMatchObject({ isPlatform });
  });

  const without = (entry: string) =>
    Object.fromEntries(Object.entries(secret.data).filter(([name]) => name !== entry));
  it.each([
    ['no token', { ...secret, data: without('token') }],
    ['a token with spaces', { ...secret, data: { ...secret.data, token: 'YSBi' } }],
    ['an empty server', { ...secret, data: { ...secret.data, server: '' } }],
    ['no authority', { ...secret, data: without('ca.crt') }],
    ['another entry', { ...secret, data: { ...secret.data, more: 'YQ==' } }],
    ['no data', { ...secret, data: undefined }],
    [
      'an end that is no time',
      { ...secret, metadata: { annotations: { 'management.platform.sh/token-expires': 'x' } } },
    ],
  ])('gives nothing with %s', (_what, altered) => {
    expect(parseTargetAccess(altered)).toBeUndefined();
  });
});
