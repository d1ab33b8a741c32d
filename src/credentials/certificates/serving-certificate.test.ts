import { createPrivateKey, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type Server } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { type CertificatePair, createAuthority, createServingCertificate } from './serving-certificate.ts';

const name = { organization: 'management.platform.sh', commonName: 'the authority' };
const subject = { organization: 'management.platform.sh', commonName: 'the gateway' };
const now = Date.now();
const validity = { from: now - 60_000, until: now + 3_600_000 };
const hosts = ['latchkey.example.com', 'latchkey-gateway', '127.0.0.1', '2001:db8::5'];

const authority = { ...createAuthority(name, validity), name };
const issue = (over: object = {}) =>
  createServingCertificate(authority, { subject, hosts, validity, ...over });
const read = ({ certificate }: CertificatePair) => new X509Certificate(certificate);

describe('an authority', () => {
  it('signs itself and servers, and no authority below it', () => {
    const certificate = read(authority);
    expect(certificate.ca).toBe(true);
    expect(certificate.subject).toBe('O=management.platform.sh\nCN=the authority');
    expect(certificate.verify(certificate.publicKey)).toBe(true);
    // basicConstraints with the path length 0, and keyUsage with certificate signing alone; both are critical.
    expect(certificate.raw.toString('hex')).toContain('0603551d130101ff040830060101ff020100');
    expect(certificate.raw.toString('hex')).toContain('0603551d0f0101ff040403020204');
  });
});

describe('a certificate for a server', () => {
  it('is of its authority, for its hosts alone, for servers alone, with a key of its own', () => {
    const pair = issue();
    const certificate = read(pair);
    expect(certificate.checkIssued(read(authority))).toBe(true);
    expect(certificate.verify(read(authority).publicKey)).toBe(true);
    expect(certificate.checkPrivateKey(createPrivateKey(pair.privateKey))).toBe(true);
    expect(certificate.subjectAltName).toBe(
      'DNS:latchkey.example.com, DNS:latchkey-gateway, IP Address:127.0.0.1, IP Address:2001:DB8:0:0:0:0:0:5',
    );
    expect(certificate.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1']);
    expect(certificate.ca).toBe(false);
    expect(read(issue()).publicKey.equals(certificate.publicKey)).toBe(false);
  });

  it('has a serial number of its own, positive, of sixteen bytes', () => {
    const serials = Array.from({ length: 50 }, () => read(issue()).serialNumber);
    expect(new Set(serials).size).toBe(50);
    for (const serial of serials) expect(serial).toMatch(/^[4-7][0-9A-F]{31}$/);
  });

  it.each(['2026-11-22T10:00:00Z', '2049-12-31T23:59:59Z', '2050-01-01T00:00:00Z', '2126-01-01T00:00:00Z'])(
    'ends when it should, also at %s',
    (end) => {
      const until = Date.parse(end);
      const { validFromDate, validToDate } = read(issue({ validity: { from: until - 1_000, until } }));
      expect([validFromDate.getTime(), validToDate.getTime()]).toEqual([until - 1_000, until]);
    },
  );

  it.each(['', 'a b', 'a\n', 'ä.example', 'x'.repeat(254), '[::1]'])('names no host %j', (host) => {
    expect(() => issue({ hosts: [host] })).toThrow(RangeError);
  });
});

describe('a connection', () => {
  let server: Server;
  afterEach(() => server.close());

  async function serve({ certificate: cert, privateKey: key }: CertificatePair): Promise<number> {
    server = createServer({ cert, key }, (socket) => void socket.end()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  }
  const dial = (port: number, servername: string, ca: string): Promise<true> =>
    new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', servername, ca }, () => {
        socket.destroy();
        resolve(true);
      });
      socket.on('error', reject);
    });

  it.each(['latchkey.example.com', 'latchkey-gateway'])(
    'of a client that trusts nothing but the authority works under %s',
    async (host) => {
      expect(await dial(await serve(issue()), host, authority.certificate)).toBe(true);
    },
  );

  it('works under an IP address', async () => {
    expect(await dial(await serve(issue()), '', authority.certificate)).toBe(true);
  });

  it('is refused under another name', async () => {
    const port = await serve(issue());
    await expect(dial(port, 'other.example.com', authority.certificate)).rejects.toMatchObject({
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    });
  });

  it('is refused by a client that trusts another authority of the same name', async () => {
    const port = await serve(issue());
    const other = createAuthority(name, validity).certificate;
    await expect(dial(port, 'latchkey.example.com', other)).rejects.toThrow();
  });

  it('is refused when the certificate has ended', async () => {
    const port = await serve(issue({ validity: { from: now - 60_000, until: now - 1_000 } }));
    await expect(dial(port, 'latchkey.example.com', authority.certificate)).rejects.toMatchObject({
      code: 'CERT_HAS_EXPIRED',
    });
  });
});
