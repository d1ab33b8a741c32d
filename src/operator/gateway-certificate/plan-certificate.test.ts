import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  createAuthority as createForeignAuthority,
  createServer,
} from '../../../lab/controlplane/certificates.ts';
import {
  type CertificatePair,
  createAuthority,
  createServingCertificate,
} from '../../credentials/certificates/serving-certificate.ts';
import {
  type CertificateInput,
  lives,
  planCertificate,
  servedHosts,
  servingName,
} from './plan-certificate.ts';
import { authorityName, type StoredAuthority, type StoredServing } from './stored-certificate.ts';

const made = Date.UTC(2026, 10, 22);
const day = 86_400_000;
const hosts = servedHosts('https://latchkey.example.com:8443/path');

const validity = (from: number, lifeMs: number) => ({ from: from - lives.backdate, until: from + lifeMs });
const none: CertificatePair = { certificate: '', privateKey: '' };
const authorityMadeAt = (at: number): CertificatePair =>
  createAuthority(authorityName, validity(at, lives.authority));
const holding = (pair: CertificatePair, over: Partial<StoredAuthority> = {}): StoredAuthority => ({
  ...pair,
  isOurs: true,
  next: none,
  former: '',
  ...over,
});
const servingOf = (signer: CertificatePair, { at = made, ca = signer.certificate } = {}): StoredServing => {
  const request = { subject: servingName, hosts, validity: validity(at, lives.serving) };
  return { ...createServingCertificate({ ...signer, name: authorityName }, request), ca, isOurs: true };
};

const authority = holding(authorityMadeAt(made));
const otherAuthority = holding(authorityMadeAt(made));
const serving = servingOf(authority);
const site = (() => {
  const { certificate, key } = createServer(createForeignAuthority('site'), ['latchkey.example.com']);
  return { certificate, privateKey: key, ca: '', isOurs: false };
})();
const siteAuthority = holding(site, { isOurs: false });
const rsaKey = generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey;
const rsa = rsaKey.export({ type: 'pkcs8', format: 'pem' }).toString();

const plan = (over: Partial<CertificateInput> = {}) =>
  planCertificate({ authority, serving, hosts, now: made, ...over });

describe('servedHosts', () => {
  const service = [
    'latchkey-gateway',
    'latchkey-gateway.latchkey-system',
    'latchkey-gateway.latchkey-system.svc',
    'latchkey-gateway.latchkey-system.svc.cluster.local',
  ];

  it.each([
    ['https://latchkey.example.com:8443/path', 'latchkey.example.com'],
    ['https://127.0.0.1:8443', '127.0.0.1'],
    ['https://[2001:db8::1]', '2001:db8::1'],
    ['https://latchkey.example.com.', 'latchkey.example.com'],
  ])('are of %s its host, and the names of the Service', (url, host) => {
    expect(servedHosts(url)).toEqual([host, ...service]);
  });

  it('name no host twice', () => {
    expect(servedHosts('https://latchkey-gateway.latchkey-system.svc')).toHaveLength(4);
  });
});

describe('the certificate', () => {
  it('is kept until a third of its life is left', () => {
    const recheckAt = made + lives.serving - lives.renewBefore;
    const kept = { step: 'keep', end: made + lives.serving, recheckAt };
    expect(plan()).toEqual({ ...kept, trust: { ca: authority.certificate, earlierCAs: [] } });
    expect(plan({ now: recheckAt - 1 })).toMatchObject(kept);
    expect(lives.renewBefore).toBeGreaterThanOrEqual(lives.serving / 3);
  });

  it.each<[string, string, Partial<CertificateInput>]>([
    ['there is none', 'missing', { serving: undefined }],
    ['it is garbage', 'unusable', { serving: { ...serving, certificate: 'garbage' } }],
    ['it is empty', 'unusable', { serving: { ...serving, ...none } }],
    ['its key is that of another', 'unusable', { serving: { ...serving, privateKey: rsa } }],
    ['its authority is gone', 'of another authority', { authority: otherAuthority }],
    [
      'another authority stands beside it',
      'without its authorities',
      { serving: { ...serving, ca: site.certificate } },
    ],
    ['no authority stands beside it', 'without its authorities', { serving: { ...serving, ca: '' } }],
    ['the base URL changes', 'for other hosts', { hosts: servedHosts('https://other.example.com') }],
    ['the base URL becomes an address', 'for other hosts', { hosts: servedHosts('https://10.0.0.1') }],
    ['it ends soon', 'ends soon', { now: made + lives.serving - lives.renewBefore }],
    ['it has ended', 'ends soon', { now: made + lives.serving + day }],
    ['the clock went back', 'not valid yet', { now: made - day }],
  ])('is issued again when %s', (_, reason, over) => {
    const { certificate: ca } = over.authority ?? authority;
    expect(plan(over)).toEqual({ step: 'issue', reason, signer: over.authority ?? authority, ca });
  });

  it.each<[string, Partial<CertificateInput>]>([
    ['a certificate', { serving: site }],
    ['a certificate, when there is no authority of ours', { serving: site, authority: undefined }],
    ['a certificate, when the authority is not ours', { serving: site, authority: siteAuthority }],
    ['a certificate that has ended', { serving: site, now: made + 10_000 * day }],
    ['a certificate in place of ours', { serving: { ...site, isOurs: true } }],
    [
      'a certificate in place of ours that has lost its authority',
      { serving: { ...site, isOurs: true }, authority: undefined },
    ],
  ])('is left alone where the site has given %s', (_, over) => {
    expect(plan(over)).toEqual({ step: 'leave', end: expect.any(Number) });
  });

  it('is left alone where the site has put anything else under this name', () => {
    const garbage = { ...serving, certificate: 'garbage', isOurs: false };
    expect(plan({ serving: garbage })).toEqual({ step: 'leave' });
  });
});

describe('the authority', () => {
  it.each<[string, string, Partial<CertificateInput>]>([
    ['there is none', 'missing', { authority: undefined }],
    ['there is neither it nor a certificate', 'missing', { authority: undefined, serving: undefined }],
    ['it is garbage', 'unusable', { authority: { ...authority, certificate: 'garbage' } }],
    ['its key is lost', 'unusable', { authority: { ...authority, privateKey: '' } }],
    ['it is none', 'unusable', { authority: holding(serving) }],
  ])('is made again when %s', (_, reason, over) => {
    const write = { current: 'new', former: '' };
    expect(plan(over)).toEqual({ step: 'writeAuthority', reason, write });
  });

  it('is kept when the clock is behind', () => {
    expect(plan({ now: made - 365 * day })).toMatchObject({ step: 'issue' });
  });

  it('is used although someone else wrote the Secret again, as from a backup', () => {
    expect(plan({ authority: { ...authority, isOurs: false } })).toMatchObject({ step: 'keep' });
  });

  it('of someone else is never written over', () => {
    const withRSA = { ...siteAuthority, privateKey: rsa };
    for (const foreign of [siteAuthority, withRSA])
      expect(plan({ authority: foreign })).toEqual({ step: 'refuse' });
  });
});

describe('another authority', () => {
  const lastIssue = made + lives.authority - lives.serving;
  const announceAt = lastIssue - lives.announcement;
  const next = authorityMadeAt(announceAt);
  const both = authority.certificate + next.certificate;
  const late = { now: lastIssue, serving: servingOf(authority, { at: lastIssue - day, ca: both }) };
  const follower = holding(next, { former: authority.certificate });

  it('is announced years before it signs', () => {
    const before = { now: announceAt - 1, serving: servingOf(authority, { at: announceAt - day }) };
    expect(plan(before)).toMatchObject({ step: 'keep', recheckAt: announceAt });
    expect(plan({ now: announceAt })).toEqual({
      step: 'writeAuthority',
      reason: 'announced',
      write: { current: authority, next: 'new', former: '' },
    });
    expect(lives.announcement).toBeGreaterThan(365 * day);
  });

  it('stands in kubeconfigs from then on, and those without it are good for the rest of their lives', () => {
    const announced = holding(authority, { next });
    const now = announceAt + day;
    expect(plan({ authority: announced, now, serving: servingOf(authority, { at: now, ca: both }) })).toEqual(
      {
        step: 'keep',
        trust: { ca: both, earlierCAs: [authority.certificate] },
        end: now + lives.serving,
        recheckAt: now + lives.serving - lives.renewBefore,
      },
    );
  });

  it('signs when the first can sign no more', () => {
    expect(plan({ ...late, authority: holding(authority, { next }), now: lastIssue - 1 })).toMatchObject({
      step: 'keep',
      recheckAt: lastIssue,
    });
    expect(plan({ ...late, authority: holding(authority, { next }) })).toEqual({
      step: 'writeAuthority',
      reason: 'its time has come',
      write: { current: next, former: authority.certificate },
    });
  });

  it('changes nothing in kubeconfigs when it begins to sign, nor when the first has ended', () => {
    const signed = servingOf(next, { at: lastIssue, ca: both });
    const begun = { authority: follower, now: lastIssue };
    expect(plan({ ...begun, serving: late.serving })).toMatchObject({ step: 'issue', ca: both });
    expect(plan({ ...begun, serving: signed })).toMatchObject({
      trust: { ca: both, earlierCAs: [next.certificate] },
    });
    const now = made + lives.authority;
    const after = { authority: follower, now, serving: servingOf(next, { at: now }) };
    expect(plan(after)).toMatchObject({ trust: { ca: next.certificate, earlierCAs: [both] } });
  });

  it('is looked at when the first ends', () => {
    const at = made + lives.authority - 40 * day;
    const around = { authority: follower, now: at, serving: servingOf(next, { at, ca: both }) };
    expect(plan(around)).toMatchObject({ recheckAt: made + lives.authority });
  });

  it.each<[string, Partial<StoredAuthority>]>([
    ['was never announced', {}],
    ['was damaged', { next: { ...next, privateKey: rsa } }],
  ])('is made at once when it %s in time', (_, over) => {
    expect(plan({ ...late, authority: holding(authority, over) })).toEqual({
      step: 'writeAuthority',
      reason: 'ends soon',
      write: { current: 'new', former: authority.certificate },
    });
  });

  it('is made at once when the announced one cannot sign any more either', () => {
    const now = made + 3 * lives.authority;
    expect(plan({ authority: holding(authority, { next }), now })).toMatchObject({
      step: 'writeAuthority',
      reason: 'ends soon',
    });
  });
});
