import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createAuthority, createServer } from '../../../lab/controlplane/certificates.ts';
import { systemClock } from '../../kube/clock.ts';
import { FakeClock } from '../../kube/fake-clock.ts';
import { silentLogger } from '../../logger.ts';
import { followCertificate, readCertificate, type ServingCertificate } from './certificate.ts';
import { GatewayServer } from './server.ts';

const authority = createAuthority('test');
const pairFor = (name: string) => createServer(authority, [name]);
let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'latchkey-certificate-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const files = () => ({ certFile: path.join(folder, 'tls.crt'), keyFile: path.join(folder, 'tls.key') });
function write({ certificate, key }: { readonly certificate: string; readonly key: string }) {
  writeFileSync(files().certFile, certificate);
  writeFileSync(files().keyFile, key);
}

describe('readCertificate', () => {
  it('reads a pair', () => {
    write(pairFor('a.example'));
    expect(new X509Certificate(readCertificate(files()).cert).subject).toBe('CN=a.example');
  });

  it.each([
    ['no files', () => undefined],
    ['the key of another certificate', () => write({ ...pairFor('a'), key: pairFor('b').key })],
    ['text', () => write({ certificate: 'a', key: 'b' })],
    ['empty files', () => write({ certificate: '', key: '' })],
  ])('refuses %s, without a word of the key', (_, prepare) => {
    prepare();
    expect(() => readCertificate(files())).toThrow(/^the serving certificate in .* cannot be used: /);
  });
});

describe('followCertificate', () => {
  it('passes on a new pair, and leaves the former one in use while the new one is broken', async () => {
    write(pairFor('first'));
    const clock = new FakeClock();
    const stop = new AbortController();
    const seen: ServingCertificate[] = [];
    const current = readCertificate(files());
    const onChange = (certificate: ServingCertificate) => void seen.push(certificate);
    const running = followCertificate(
      { files: files(), current, clock, log: silentLogger, onChange },
      stop.signal,
    );
    await clock.advanceAsync(20_000, 10_000);
    write({ ...pairFor('broken'), key: pairFor('other').key });
    await clock.advanceAsync(20_000, 10_000);
    expect(seen).toEqual([]);
    write(pairFor('second'));
    await clock.advanceAsync(20_000, 10_000);
    expect(seen.map(({ cert }) => new X509Certificate(cert).subject)).toEqual(['CN=second']);
    stop.abort();
    await running;
  });
});

describe('a server with a certificate', () => {
  const limits = {
    ...{ headerBytes: 16_384, headerFields: 100, urlBytes: 8_192 },
    ...{ headMs: 30_000, idleMs: 30_000, connections: 10 },
    ...{ strangersPerAddress: 0, strangerGraceMs: 2_000 },
  };
  const toCertificate = ({ certificate: cert, key }: ReturnType<typeof pairFor>) => ({ cert, key });

  async function start() {
    const server = new GatewayServer({
      address: { host: '127.0.0.1', port: 0 },
      certificate: toCertificate(pairFor('first.example')),
      limits,
      clock: systemClock,
      onConnectionClosed: () => undefined,
      onRefused: () => undefined,
      onRequest: (_, response) => void response.end('ok'),
    });
    const { port } = await server.listen();
    const dial = (options: object = {}) =>
      new Promise<TLSSocket>((resolve, reject) => {
        const socket = connect(
          {
            port,
            host: '127.0.0.1',
            ca: authority.certificate,
            checkServerIdentity: () => undefined,
            ...options,
          },
          () => resolve(socket),
        );
        socket.on('error', reject);
      });
    return { server, dial };
  }

  it('speaks HTTP/1.1 only, and TLS 1.2 or newer', async () => {
    const { server, dial } = await start();
    expect((await dial({ ALPNProtocols: ['h2', 'http/1.1'] })).alpnProtocol).toBe('http/1.1');
    await expect(dial({ ALPNProtocols: ['h2'] })).rejects.toThrow(/no application protocol/);
    await expect(dial({ minVersion: 'TLSv1', maxVersion: 'TLSv1.1' })).rejects.toThrow();
    expect((await dial({ maxVersion: 'TLSv1.2' })).getProtocol()).toBe('TLSv1.2');
    await server.close(0);
  });

  it('shows a new certificate to new connections, and keeps the open ones', async () => {
    const { server, dial } = await start();
    const before = await dial();
    server.replaceCertificate(toCertificate(pairFor('second.example')));
    const after = await dial();
    expect([before, after].map((socket) => socket.getPeerCertificate().subject.CN)).toEqual([
      'first.example',
      'second.example',
    ]);
    before.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    const [answer] = await once(before, 'data');
    expect(String(answer)).toMatch(/^HTTP\/1\.1 200/);
    await expect(dial({ maxVersion: 'TLSv1.1', minVersion: 'TLSv1' })).rejects.toThrow();
    await server.close(0);
  });
});
