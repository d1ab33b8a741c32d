import { describe, expect, it } from 'vitest';
import { created, credentialObject, liveRecord, recordOf } from '../../test/builders/credential-object.ts';
import type { CredentialKind } from './record.ts';
import { endOfIssued, lifeOfIssued } from './token-life.ts';

const token: CredentialKind = 'DirectClusterEndpointToken';
const kubeConfig: CredentialKind = 'VirtualClusterInstanceKubeConfig';
const day = 86_400;
const atSecond = (seconds: number) => created + seconds * 1000;
const of = (kind: CredentialKind, spec: object) => recordOf(credentialObject({ kind, spec: { ...spec } }));

describe('lifeOfIssued', () => {
  it.each([
    [
      'a token without ttl',
      of(token, {}),
      {},
      { confirmedTTL: day, notAfter: atSecond(day), shortened: false },
    ],
    [
      'a token with ttl 0',
      of(token, { ttl: 0 }),
      {},
      { confirmedTTL: day, notAfter: atSecond(day), shortened: false },
    ],
    [
      'a token with a ttl',
      of(token, { ttl: 60 }),
      {},
      { confirmedTTL: 60, notAfter: atSecond(60), shortened: false },
    ],
    [
      'a token with the longest ttl',
      of(token, { ttl: 90 * day }),
      {},
      { confirmedTTL: 90 * day, notAfter: atSecond(90 * day), shortened: false },
    ],
    [
      'a token above it',
      of(token, { ttl: 90 * day + 1 }),
      {},
      { confirmedTTL: 90 * day, notAfter: atSecond(90 * day), shortened: true },
    ],
    [
      'a policy above it',
      of(token, { ttl: 91 * day }),
      { maxLife: 99 * day },
      { confirmedTTL: 90 * day, notAfter: atSecond(90 * day), shortened: true },
    ],
    [
      'a policy below the ttl',
      of(token, { ttl: 60 }),
      { maxLife: 30 },
      { confirmedTTL: 30, notAfter: atSecond(30), shortened: true },
    ],
    [
      'a parent that ends before',
      of(token, {}),
      { parentEnd: atSecond(60) + 999 },
      { confirmedTTL: day, notAfter: atSecond(60), shortened: false },
    ],
    [
      'a parent that never ends',
      of(token, {}),
      { parentEnd: Number.POSITIVE_INFINITY },
      { confirmedTTL: day, notAfter: atSecond(day), shortened: false },
    ],
    [
      'a ttl that cannot be read',
      of(token, { ttl: 'x' }),
      {},
      { confirmedTTL: 0, notAfter: created, shortened: false },
    ],
    [
      'a kubeconfig without certificateTTL',
      of(kubeConfig, { ttl: 5 }),
      {},
      { confirmedTTL: day, notAfter: atSecond(day), shortened: false },
    ],
    [
      'a kubeconfig with certificateTTL 0',
      of(kubeConfig, { certificateTTL: 0 }),
      {},
      { confirmedTTL: 365 * day, notAfter: atSecond(365 * day), shortened: false },
    ],
    [
      'a kubeconfig under a policy',
      of(kubeConfig, { certificateTTL: 0 }),
      { maxLife: day },
      { confirmedTTL: day, notAfter: atSecond(day), shortened: true },
    ],
  ])('of %s', (_, record, options, life) => {
    expect(lifeOfIssued(record, { issuedAt: created, ...options })).toEqual(life);
  });

  it('ends at a whole second', () => {
    expect(lifeOfIssued(of(token, { ttl: 60 }), { issuedAt: created + 999 }).notAfter).toBe(atSecond(60));
  });
});

describe('endOfIssued', () => {
  it.each([
    ['unchanged', { ttl: 600 }, atSecond(600)],
    ['shortened', { ttl: 60 }, atSecond(60)],
    ['lengthened', { ttl: 6000 }, atSecond(600)],
    ['unreadable', { ttl: 'x' }, created],
  ])('with a ttl that is %s', (_, spec, expected) => {
    const { status } = liveRecord({ kind: token, spec: { ttl: 600 } });
    expect(endOfIssued({ ...of(token, spec), status })).toBe(expected);
  });

  it.each(['notAfter', 'issuedAt', 'confirmedTTL'])('is unknown without status.%s', (field) => {
    expect(endOfIssued(liveRecord({ kind: token, status: { [field]: null } }))).toBeUndefined();
  });
});
