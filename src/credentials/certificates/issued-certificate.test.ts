import { createHash, generateKeyPairSync, X509Certificate } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type CertificateParts,
  certificateOf,
  printableString,
  usages,
} from '../../../test/builders/issued-certificate.ts';
import { readIssuedCertificate } from './issued-certificate.ts';

const subject = 'management.platform.sh:kubeconfig:uid-1:1';
const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey;
const notAfter = new Date('2026-11-22T12:00:00Z');
const now = notAfter.getTime() - 1;
const printable = printableString(subject);

const parts: CertificateParts = {
  publicKey,
  subject: [
    ['O', printable],
    ['CN', printable],
  ],
  notAfter,
  usages: [usages.client],
};
const good = certificateOf(parts);
const read = (pem: string, at = now) => readIssuedCertificate(pem, { subject, publicKey, now: at });
const readOf = (changed: Partial<CertificateParts>) => read(certificateOf({ ...parts, ...changed }));

describe('readIssuedCertificate', () => {
  it('tells end and hash of the certificate that was asked for', () => {
    expect(read(good)).toEqual({
      certificate: good,
      notAfter: notAfter.getTime(),
      hash: createHash('sha256').update(new X509Certificate(good).raw).digest('hex'),
    });
  });

  it('accepts the same name in UTF8String', () => {
    const name: CertificateParts['subject'] = [
      ['O', subject],
      ['CN', subject],
    ];
    expect(readOf({ subject: name })).toHaveProperty('certificate');
  });

  it('keeps nothing of what stands around the certificate', () => {
    expect(read(`subject=someone\nsecret: x\n${good}-----BEGIN SECRET-----\n`)).toEqual(read(good));
    expect(read(good.replaceAll('\n', '\r\n'))).toEqual(read(good));
  });

  it('keeps the certificates of the authorities between it and the root', () => {
    const authority = certificateOf({ ...parts, subject: [['CN', 'the signer']], isAuthority: true });
    expect(read(`${good}text\n${authority}`)).toMatchObject({
      certificate: good + authority,
    });
  });

  it('accepts it until its end', () => {
    expect(read(good, notAfter.getTime() - 1)).toHaveProperty('certificate');
    expect(read(good, notAfter.getTime())).toEqual({ problem: 'the issued certificate has expired' });
    expect(read(good, Number.NaN)).toEqual({ problem: 'the issued certificate has expired' });
  });

  it.each<[string, CertificateParts['subject']]>([
    ['none', []],
    ['no group', [['CN', printable]]],
    ['no user', [['O', printable]]],
    [
      'another user',
      [
        ['O', printable],
        ['CN', `${subject}1`],
      ],
    ],
    [
      'another group',
      [
        ['O', 'system:masters'],
        ['CN', printable],
      ],
    ],
    [
      'a second group',
      [
        ['O', printable],
        ['O', 'system:masters'],
        ['CN', printable],
      ],
    ],
    [
      'a second group in the same set',
      [
        [
          ['O', printable],
          ['O', 'system:masters'],
        ],
        ['CN', printable],
      ],
    ],
    [
      'a second user',
      [
        ['O', printable],
        ['CN', printable],
        ['CN', 'admin'],
      ],
    ],
    [
      'a unit beside',
      [
        ['O', printable],
        ['OU', 'x'],
        ['CN', printable],
      ],
    ],
    [
      'user and group exchanged',
      [
        ['CN', printable],
        ['O', printable],
      ],
    ],
    [
      'user and group in one set',
      [
        [
          ['O', printable],
          ['CN', printable],
        ],
      ],
    ],
    [
      'a name that prints alike',
      [
        ['O', `${subject}\nCN=${subject}`],
        ['CN', printable],
      ],
    ],
    [
      'a space at the end',
      [
        ['O', `${subject} `],
        ['CN', printable],
      ],
    ],
    [
      'capital letters',
      [
        ['O', subject.toUpperCase()],
        ['CN', printable],
      ],
    ],
    [
      'another type of string',
      [
        ['O', Buffer.concat([Buffer.from([0x16]), printable.subarray(1)])],
        ['CN', printable],
      ],
    ],
  ])('refuses a subject with %s', (_, name) => {
    expect(readOf({ subject: name })).toEqual({
      problem: 'the issued certificate has another subject than the request',
    });
  });

  it('refuses a certificate for another key', () => {
    expect(readOf({ publicKey: stranger })).toEqual({
      problem: 'the issued certificate is for another key than the request',
    });
  });

  it.each([
    ['nothing', undefined],
    ['servers', [usages.server]],
    ['anything', [usages.any]],
  ])('refuses a certificate for %s', (_, purposes) => {
    const { usages: __, ...rest } = parts;
    const made = certificateOf({ ...rest, ...(purposes !== undefined && { usages: purposes }) });
    expect(read(made)).toEqual({ problem: 'the issued certificate is not for client authentication' });
  });

  it('refuses an authority', () => {
    expect(readOf({ isAuthority: true })).toEqual({
      problem: 'the issued certificate is that of an authority',
    });
  });

  it('judges the first certificate, whatever follows', () => {
    const other = certificateOf({ ...parts, subject: [['CN', 'system:admin']] });
    expect(read(other + good)).toHaveProperty('problem');
  });

  it.each([
    ['', 'the signer issued no PEM certificate'],
    ['garbage', 'the signer issued no PEM certificate'],
    ['-----BEGIN CERTIFICATE-----', 'the signer issued no PEM certificate'],
    [good.replaceAll('CERTIFICATE', 'PRIVATE KEY'), 'the signer issued no PEM certificate'],
    [
      '-----BEGIN CERTIFICATE-----\nbm90IGEgY2VydGlmaWNhdGU=\n-----END CERTIFICATE-----\n',
      'the issued certificate cannot be read',
    ],
    [
      `${good}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`,
      'the issued certificate cannot be read',
    ],
    [good.repeat(200), 'the issued certificate is larger than 64 KiB'],
  ])('refuses what is no such thing (%#)', (pem, problem) => {
    expect(read(pem)).toEqual({ problem });
  });

  it('never throws, and never accepts what is not the certificate', () => {
    const der = new X509Certificate(good).raw;
    fc.assert(
      fc.property(fc.nat(der.length - 1), fc.integer({ min: 1, max: 255 }), (position, change) => {
        const altered = Buffer.from(der);
        altered[position] = (altered[position] ?? 0) ^ change;
        const pem = `-----BEGIN CERTIFICATE-----\n${altered.toString('base64')}\n-----END CERTIFICATE-----\n`;
        const result = read(pem);
        if ('problem' in result)
          expect(result.problem).toMatch(/^the (?:issued certificate|signer) [a-z0-9 ]+$/i);
        else expect(new X509Certificate(result.certificate).publicKey.equals(publicKey)).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });
});
