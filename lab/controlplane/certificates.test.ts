import { createPrivateKey, X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createAuthority, createClient, createServer } from './certificates.ts';

const authority = createAuthority('test authority');

describe('an authority', () => {
  it('may sign certificates and is signed by itself', () => {
    const certificate = new X509Certificate(authority.certificate);
    expect(certificate.ca).toBe(true);
    expect(certificate.subject).toBe('CN=test authority');
    expect(certificate.verify(certificate.publicKey)).toBe(true);
  });
});

describe('a client certificate', () => {
  const of = (user: string, groups: readonly string[] = []): X509Certificate =>
    new X509Certificate(createClient(authority, { user, groups }).certificate);

  it('names the user and every group', () => {
    expect(of('ann', ['dev', 'ops']).subject).toBe('O=dev\nO=ops\nCN=ann');
  });

  it('carries names of any length and script', () => {
    const long = 'x'.repeat(300);
    expect(of('jörg', ['工', long]).subject).toBe(`O=工\nO=${long}\nCN=jörg`);
  });

  it('is signed by the authority, for clients only, and cannot sign others', () => {
    const certificate = of('ann');
    expect(certificate.verify(new X509Certificate(authority.certificate).publicKey)).toBe(true);
    expect(certificate.checkIssued(new X509Certificate(authority.certificate))).toBe(true);
    expect(certificate.keyUsage).toEqual(['1.3.6.1.5.5.7.3.2']);
    expect(certificate.ca).toBe(false);
  });

  it('belongs to the key that comes with it', () => {
    const identity = createClient(authority, { user: 'ann' });
    expect(new X509Certificate(identity.certificate).checkPrivateKey(createPrivateKey(identity.key))).toBe(
      true,
    );
  });

  it('is valid now, a little before, and for months', () => {
    const { validFromDate, validToDate } = of('ann');
    expect(Date.now() - validFromDate.getTime()).toBeGreaterThan(60_000);
    expect(validToDate.getTime() - Date.now()).toBeGreaterThan(90 * 86_400_000);
  });

  it('has a serial number of its own', () => {
    const serials = Array.from({ length: 50 }, () => of('ann').serialNumber);
    expect(new Set(serials).size).toBe(50);
    for (const serial of serials) expect(serial).toMatch(/^[4-7][0-9A-F]{31}$/);
  });
});

describe('a server certificate', () => {
  it('is good for loopback and its names, and for servers only', () => {
    const certificate = new X509Certificate(createServer(authority, ['localhost', 'kubernetes']).certificate);
    expect(certificate.checkIP('127.0.0.1')).toBe('127.0.0.1');
    expect(certificate.checkHost('kubernetes')).toBe('kubernetes');
    expect(certificate.checkHost('example.com')).toBeUndefined();
    expect(certificate.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1']);
  });
});
