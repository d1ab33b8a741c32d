import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  type AddressInfo,
  createServer as createPlainServer,
  type LookupFunction,
  type Server,
  type Socket,
} from 'node:net';
import { createServer as createTlsServer, type TLSSocket, type TlsOptions } from 'node:tls';
import { buildConnector } from 'undici';
import { afterEach, describe, expect, it } from 'vitest';
import { createAuthority, createClient, createServer } from '../../../../lab/controlplane/certificates.ts';
import { exchange, ok, send } from '../../../../test/builders/upstream-pool.ts';
import { FakeClock } from '../../../../test/fakes/fake-clock.ts';
import { waitFor } from '../../../../test/fakes/wait-for.ts';
import { hardenedTls, makeIdentity, type TlsIdentity } from '../../../kube/client/client-identity.ts';
import { ConnectionSet } from '../../../kube/client/connections.ts';
import { systemClock } from '../../../kube/clock.ts';
import { openUpstreamPools, UpstreamPool } from './upstream-pool.ts';

const authority = createAuthority('target');
const { certificate: ca } = authority;
const { certificate: otherCA } = createAuthority('other');
const { certificate: cert, key } = createServer(authority, ['target.example']);
const versions = ['TLSv1.2', 'TLSv1.3'] as const;

const servers: Server[] = [];
const sets: ConnectionSet[] = [];
afterEach(async () => {
  await Promise.all(sets.splice(0).map((set) => set.close()));
  for (const server of servers.splice(0)) server.close();
});

type Behaviour = (socket: TLSSocket, text: string) => unknown;

/** A server for `target.example` and 127.0.0.1, with what it received. */
async function serve(behaviour: Behaviour = (socket) => socket.write(ok), options: TlsOptions = {}) {
  const dialled: Socket[] = [];
  const sockets: TLSSocket[] = [];
  const seen: string[] = [];
  const server = createTlsServer({ cert, key, ...options }, (socket) => {
    sockets.push(socket);
    socket
      .on('error', () => undefined)
      .on('data', (bytes) => {
        seen.push(bytes.toString('latin1'));
        behaviour(socket, bytes.toString('latin1'));
      });
  });
  server.on('tlsClientError', () => undefined).on('connection', (socket) => void dialled.push(socket));
  return { port: await listen(server), dialled, sockets, seen };
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  servers.push(server);
  return (server.address() as AddressInfo).port;
}

/** Sends requests as these identities. */
function connections(lookup?: LookupFunction) {
  const limits = { connections: 8, watchConnections: 8 };
  const set = new ConnectionSet({
    ...limits,
    openPool: openUpstreamPools(systemClock),
    ...(lookup === undefined ? {} : { lookup }),
  });
  sets.push(set);
  return (port: number, tls: TlsIdentity, host = '127.0.0.1') =>
    exchange(set.for(makeIdentity(new URL(`https://${host}:${port}`), tls, [])).requests);
}

const resolvingTo =
  (...addresses: readonly string[]): LookupFunction =>
  (_host, options, callback) => {
    const found = addresses.map((address) => ({ address, family: 4 }));
    if (options.all === true) callback(null, found);
    else callback(null, addresses[0] ?? '', 4);
  };

describe.each(versions)('over %s', (maxVersion) => {
  const options = { maxVersion };

  it.each<[string, TlsIdentity]>([
    ['of another authority', { ca: otherCA }],
    ['of no authority that is known', {}],
    ['for another host', { ca, servername: 'other.example' }],
  ])('a server with a certificate %s gets nothing, however often it is tried', async (_, tls) => {
    const { port, seen } = await serve(undefined, options);
    const request = connections();
    for (let count = 0; count < 3; count += 1) expect((await request(port, tls)).error).toBeInstanceOf(Error);
    expect(seen).toEqual([]);
  });

  it('what one identity has verified counts for no other, also on the same server', async () => {
    const { port, seen } = await serve(undefined, options);
    const [request, another] = [connections(), connections()];
    for (let count = 0; count < 3; count += 1) {
      expect((await request(port, { ca })).body).toBe('ok');
      expect((await request(port, { ca: otherCA })).error).toBeInstanceOf(Error);
      expect((await request(port, { ca, servername: 'other.example' })).error).toBeInstanceOf(Error);
      expect((await another(port, { ca: otherCA })).error).toBeInstanceOf(Error);
    }
    expect(seen).toHaveLength(3);
  });

  it('the server sees the client certificate of each identity, and never one of before', async () => {
    const greet: Behaviour = (socket) => {
      const { subject } = socket.getPeerCertificate();
      socket.end(`HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n${String(subject.CN)}`);
    };
    const { port } = await serve(greet, { ...options, requestCert: true, ca });
    const request = connections();
    const identityOf = (user: string) => {
      const client = createClient(authority, { user });
      return { ca, cert: client.certificate, key: client.key };
    };
    const [alice, bob] = [identityOf('alice'), identityOf('bob')];
    const users: string[] = [];
    for (const tls of [alice, alice, bob, bob, alice]) users.push((await request(port, tls)).body);
    expect(users).toEqual(['alice', 'alice', 'bob', 'bob', 'alice']);
    expect((await request(port, { ca })).error).toBeInstanceOf(Error);
  });

  it('large answers that come at the same time are not mixed', async () => {
    const size = 3 * 2 ** 20;
    const sent: string[] = [];
    const { port } = await serve((socket) => {
      const body = randomBytes(size);
      sent.push(digest(body));
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n`);
      socket.write(body);
    }, options);
    const request = connections();
    const outcomes = await Promise.all(Array.from({ length: 6 }, () => request(port, { ca })));
    const received = outcomes.map(({ body }) => digest(Buffer.from(body, 'latin1')));
    expect(received.sort()).toEqual(sent.sort());
  });

  it('an answer that is cut is not whole', async () => {
    const { port } = await serve((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf', () => socket.destroy());
    }, options);
    expect((await connections()(port, { ca })).error).toBeInstanceOf(Error);
  });
});

const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

describe('a connection', () => {
  it('names the server that the identity names, and none for an address', async () => {
    const { port, sockets } = await serve();
    await connections()(port, { ca, servername: 'target.example' });
    await connections()(port, { ca });
    await connections(resolvingTo('127.0.0.1'))(port, { ca }, 'target.example');
    expect(sockets.map(({ servername }) => servername)).toEqual(['target.example', false, 'target.example']);
  });

  it.each(['127.0.0.1', 'target.example'])('is made to no address that is refused: %s', async (host) => {
    const asked: string[] = [];
    const { port, dialled } = await serve();
    const request = connections((name, _options, callback) => {
      asked.push(name);
      callback(new Error('not allowed'), '', 4);
    });
    expect((await request(port, { ca }, host)).error?.message).toBe('not allowed');
    expect([asked, dialled]).toEqual([[host], []]);
  });

  it('is made to the next address where no one listens on the first one', async () => {
    const { port } = await serve();
    const request = connections(resolvingTo('127.0.0.2', '127.0.0.1'));
    for (let count = 0; count < 3; count += 1)
      expect((await request(port, { ca }, 'target.example')).body).toBe('ok');
  });

  it('to a server that never ends its handshake fails in time', async () => {
    const port = await listen(createPlainServer((socket) => void socket.on('error', () => undefined)));
    const pool = new UpstreamPool(new URL(`https://127.0.0.1:${port}`), new FakeClock(), (options) =>
      buildConnector({ ...options, allowH2: false, timeout: 200 }),
    );
    expect((await exchange(pool)).error).toMatchObject({ code: 'UND_ERR_CONNECT_TIMEOUT' });
    await pool.close();
  });

  it('to a server that speaks no TLS fails', async () => {
    const port = await listen(
      createPlainServer((socket) => void socket.on('error', () => undefined).end(ok)),
    );
    expect((await connections()(port, { ca })).error).toBeInstanceOf(Error);
  });

  it('to a server of TLS 1.2 that wants to shake hands again is cut, if others chose the server', async () => {
    const askAgain: Behaviour = (socket) => void socket.renegotiate({}, () => socket.write(ok));
    const { port } = await serve(askAgain, { maxVersion: 'TLSv1.2' });
    const identity = makeIdentity(new URL(`https://127.0.0.1:${port}`), { ca }, []);
    expect((await connections()(port, identity.tls)).body).toBe('ok');
    expect((await connections()(port, hardenedTls(identity).tls)).error).toBeInstanceOf(Error);
  });

  it('that is dialled while everything is cut does not stay', async () => {
    const { port, dialled } = await serve();
    const set = new ConnectionSet({
      ...{ connections: 8, watchConnections: 8 },
      openPool: openUpstreamPools(systemClock),
    });
    const outcome = send(set.for(makeIdentity(new URL(`https://127.0.0.1:${port}`), { ca }, [])).requests);
    await set.close();
    await outcome.over;
    expect(outcome.error).toBeInstanceOf(Error);
    await waitFor('the end at the server', () => dialled[0]?.destroyed === true);
  });
});
