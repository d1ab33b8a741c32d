import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createAuthority, createClient, createServer } from '../../../lab/controlplane/certificates.ts';
import { rawExchange } from '../../../test/builders/raw-exchange.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import {
  createAuthority as createOwnAuthority,
  createServingCertificate,
} from '../../credentials/certificates/serving-certificate.ts';
import { systemClock } from '../../kube/clock.ts';
import type { Logger } from '../../logger.ts';
import {
  certificateProblem,
  followCertificate,
  readCertificate,
  type ServingCertificate,
} from './certificate.ts';
import { GatewayServer } from './server.ts';

const authority = createAuthority('test');
const pairFor = (name: string) => createServer(authority, [name]);
let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'latchkey-certificate-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function write({ certificate, key }: { readonly certificate: string; readonly key: string }) {
  writeFileSync(path.join(folder, 'tls.crt'), certificate);
  writeFileSync(path.join(folder, 'tls.key'), key);
}

describe('readCertificate', () => {
  it('reads a pair', () => {
    write(pairFor('a.example'));
    expect(new X509Certificate(readCertificate(folder).cert).subject).toBe('CN=a.example');
  });

  it.each([
    ['no files', () => undefined],
    ['the key of another certificate', () => write({ ...pairFor('a'), key: pairFor('b').key })],
    ['text', () => write({ certificate: 'a', key: 'b' })],
    ['empty files', () => write({ certificate: '', key: '' })],
  ])('refuses %s, without a word of the key', (_, prepare) => {
    prepare();
    expect(() => readCertificate(folder)).toThrow(/^the serving certificate in .* cannot be used: /);
  });
});

describe('a certificate', () => {
  const [from, until] = [Date.parse('2026-01-01T00:00:00Z'), Date.parse('2026-04-01T00:00:00Z')];
  const name = { commonName: 'test', organization: 'test' };
  const authority = { ...createOwnAuthority(name, { from, until }), name };
  const validity = { from, until };
  const { certificate, privateKey } = createServingCertificate(authority, {
    ...{ subject: name, hosts: ['a.example'], validity },
  });
  const problemAt = (now: number) => certificateProblem({ cert: certificate, key: privateKey }, now);

  it.each([from, until])('is accepted within its time: %i', (now) => {
    expect(problemAt(now)).toBeUndefined();
  });

  it('is not before and after', () => {
    expect(problemAt(from - 1_000)).toBe('it is valid from 2026-01-01T00:00:00.000Z');
    expect(problemAt(until + 1_000)).toBe('it ended at 2026-04-01T00:00:00.000Z');
  });
});

describe('followCertificate', () => {
  it('passes on a new pair; the former one stays in use while the new one is broken, and the log says so', async () => {
    write(pairFor('first'));
    const logged: string[] = [];
    const keep = (fields: object, text: string) =>
      void logged.push(`${text} ${(fields as { err?: Error }).err?.message ?? ''}`);
    const log: Logger = { debug: keep, info: keep, warn: keep, error: keep };
    const clock = new FakeClock();
    const stop = new AbortController();
    const seen: ServingCertificate[] = [];
    const current = readCertificate(folder);
    const onChange = (certificate: ServingCertificate) => void seen.push(certificate);
    const running = followCertificate({ folder, current, clock, log, onChange }, stop.signal);
    await clock.advanceAsync(20_000, 10_000);
    expect(logged).toEqual([]);
    const broken = { ...pairFor('broken'), key: pairFor('other').key };
    write(broken);
    await clock.advanceAsync(10_000, 10_000);
    expect(seen).toEqual([]);
    expect(logged).toEqual([
      expect.stringMatching(/^the new serving certificate cannot be used; the former one stays .*tls\.crt/),
    ]);
    expect(logged.join('')).not.toContain(broken.key.split('\n')[1]);
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
      onRequest: ({ socket }, response) => {
        const { subject } = (socket as TLSSocket).getPeerCertificate();
        response.end(subject === undefined ? 'no certificate' : JSON.stringify(subject));
      },
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

  it('asks no client for a certificate', async () => {
    const { server, dial } = await start();
    const { certificate: cert, key } = createClient(authority, { user: 'alice', groups: ['system:masters'] });
    for (const maxVersion of ['TLSv1.2', 'TLSv1.3']) {
      const socket = await dial({ cert, key, maxVersion });
      socket.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
      const answer = (await socket.toArray()).join('');
      expect(answer).toMatch(/^HTTP\/1\.1 200 [\s\S]*\r\n\r\nno certificate$/);
    }
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

describe('a port that speaks TLS', () => {
  async function start() {
    const refused: string[] = [];
    const { certificate: cert, key } = pairFor('localhost');
    const server = new GatewayServer({
      address: { host: '127.0.0.1', port: 0 },
      certificate: { cert, key },
      limits: {
        ...{ headerBytes: 16_384, headerFields: 100, urlBytes: 8_192, headMs: 5_000, idleMs: 5_000 },
        ...{ connections: 8, strangersPerAddress: 0, strangerGraceMs: 0 },
      },
      clock: systemClock,
      onConnectionClosed: () => undefined,
      onRefused: (code) => refused.push(code),
      onRequest: (_, response) => void response.end(),
    });
    const { port } = await server.listen();
    return { refused, port, close: async () => await server.close(0) };
  }

  it.each([
    'GET /api HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer secret\r\n\r\n',
    'DELETE /a HTTP/1.1\r\nHost: a\r\n\r\n',
  ])('tells a client that speaks plain HTTP what is wrong: %s', async (text) => {
    const { refused, port, close } = await start();
    const answer = await rawExchange(port, text);
    expect(answer).toMatch(/^HTTP\/1\.1 400 [\s\S]*warning: 299 - "the request came as plain http/);
    expect(answer).not.toContain('secret');
    expect(refused).toEqual(['ERR_REQUEST_SCHEME']);
    await close();
  });

  it('says nothing to what is neither', async () => {
    const { refused, port, close } = await start();
    expect(await rawExchange(port, 'SSH-2.0-OpenSSH_9.9\r\n')).toBe('');
    expect(refused).toEqual([]);
    await close();
  });
});
