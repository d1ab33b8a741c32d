import { connect as connectTCP, type Socket } from 'node:net';
import { connect as connectTLS } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { createAuthority, createServer } from '../../../lab/controlplane/certificates.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { waitFor } from '../../../test/fakes/wait-for.ts';
import { GatewayServer, type ProxyOptions } from './server.ts';

const running: GatewayServer[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await Promise.all(running.splice(0).map((server) => server.close(0)));
});

const authority = createAuthority('proxies');
const pair = createServer(authority, ['127.0.0.1']);
const certificate = { cert: pair.certificate, key: pair.key };

interface StartOptions {
  readonly proxies?: Partial<ProxyOptions>;
  readonly isSecure?: boolean;
  readonly strangersPerAddress?: number;
}

/** A server that answers each request with the address of its client. All peers are trusted proxies, unless told otherwise. */
async function start({ proxies = {}, isSecure = true, strangersPerAddress = 0 }: StartOptions = {}) {
  const clock = new FakeClock();
  const closed: string[] = [];
  const server = new GatewayServer({
    address: { host: '127.0.0.1', port: 0 },
    ...(isSecure && { certificate: certificate as never }),
    limits: {
      ...{ headerBytes: 16_384, headerFields: 100, urlBytes: 8_192, headMs: 10_000, idleMs: 30_000 },
      ...{ connections: 100, strangersPerAddress, strangerGraceMs: 0 },
    },
    clock,
    proxies: { trusted: ['127.0.0.0/8'], sendHeader: true, ...proxies },
    onConnectionClosed: (limit) => void closed.push(limit),
    onRefused: () => undefined,
    onRequest: (request, response) => response.end(server.clientAddress(request)),
  });
  running.push(server);
  const { port } = await server.listen();
  return { server, port, clock, closed, isSecure };
}

const open = async (port: number): Promise<Socket> => {
  const socket = connectTCP(port, '127.0.0.1');
  sockets.push(socket.on('error', () => undefined));
  await new Promise((resolve) => socket.once('connect', resolve));
  return socket;
};

/** Sends the pieces of a header, each in a packet of its own, and a request behind it. Empty: no answer. */
async function clientOf(
  { port, isSecure }: { port: number; isSecure: boolean },
  pieces: readonly string[],
  headers = '',
): Promise<string> {
  const socket = await open(port);
  socket.setNoDelay(true);
  for (const piece of pieces) await new Promise((resolve) => socket.write(piece, 'latin1', resolve));
  const stream = isSecure ? connectTLS({ socket, rejectUnauthorized: false }) : socket;
  const chunks: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  stream
    .on('data', (chunk) => void chunks.push(String(chunk)))
    .on('error', () => resolve())
    .on('close', () => resolve())
    .write(`GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${headers}\r\n`);
  await promise;
  return chunks.join('').split('\r\n\r\n').at(1) ?? '';
}

const header = 'PROXY TCP4 203.0.113.7 10.0.0.1 12345 443\r\n';
const other = 'PROXY TCP4 203.0.113.8 10.0.0.1 12345 443\r\n';
const local = 'PROXY UNKNOWN\r\n';

describe.each([
  ['TLS', true],
  ['plain HTTP', false],
])('a connection from a trusted proxy over %s', (_, isSecure) => {
  it.each<[string, readonly string[], string, string | undefined]>([
    ['is that of the client in its header', [header], '', '203.0.113.7'],
    ['may bring that header byte by byte', [...header], '', '203.0.113.7'],
    ['is that of the proxy where it speaks for itself', [local], '', '127.0.0.1'],
    [
      'is read on for clients behind a second proxy',
      [local],
      'X-Forwarded-For: 1.1.1.1, 203.0.113.9\r\n',
      '203.0.113.9',
    ],
    ['believes no list of a client', [header], 'X-Forwarded-For: 203.0.113.9\r\n', '203.0.113.7'],
    ['is closed without a header', [], '', undefined],
    ['is closed with a wrong one', ['PROXY TCP4 stranger\r\n'], '', undefined],
    ['takes one header only', [header + other], '', undefined],
  ])('%s', async (_, pieces, headers, client) => {
    const found = await clientOf(await start({ isSecure }), pieces, headers);
    expect(/^[\d.]+$/.exec(found)?.[0]).toBe(client);
  });
});

describe('the address of a client', () => {
  it('is that of the peer where no one is trusted, whatever the headers say', async () => {
    const stage = await start({ proxies: { trusted: [], sendHeader: false } });
    expect(await clientOf(stage, [], 'X-Forwarded-For: 203.0.113.9\r\n')).toBe('127.0.0.1');
  });

  it('is the nearest in X-Forwarded-For that is no trusted proxy', async () => {
    const stage = await start({ proxies: { sendHeader: false } });
    expect(await clientOf(stage, [], 'X-Forwarded-For: 1.1.1.1\r\nX-Forwarded-For: 203.0.113.9\r\n')).toBe(
      '203.0.113.9',
    );
  });

  it('takes no header of the PROXY protocol from anyone else', async () => {
    const stage = await start({ proxies: { trusted: ['192.0.2.0/24'] } });
    expect(await clientOf(stage, [])).toBe('127.0.0.1');
    expect(await clientOf(stage, [header])).toBe('');
  });
});

describe('connections of a trusted proxy', () => {
  it('are cut when the header does not come in time', async () => {
    const { port, clock, closed } = await start();
    const socket = await open(port);
    socket.write('PROXY TCP4 203.0');
    await waitFor('the wait for its rest', () => clock.pendingTimers > 0);
    clock.advance(10_000);
    await waitFor('its end', () => socket.resume().destroyed);
    expect(closed).toEqual(['proxy-header']);
  });

  it('that only look whether the port is open are no failure', async () => {
    const { port, closed, server } = await start();
    const socket = await open(port);
    socket.end();
    await waitFor('its end', () => socket.resume().destroyed);
    await server.close(0);
    expect(closed).toEqual([]);
  });

  it('are cut when the server stops before it', async () => {
    const { server, port, clock } = await start();
    const socket = await open(port);
    socket.write('PROXY TCP4 203.0');
    await waitFor('the wait for its rest', () => clock.pendingTimers > 0);
    const closed = server.close(1_000);
    clock.advance(1_000);
    await closed;
    await waitFor('its end', () => socket.resume().destroyed);
  });

  it('count for the clients that they name, each by itself', async () => {
    const { port, closed } = await start({ strangersPerAddress: 1 });
    const [first, second] = [await open(port), await open(port)];
    first.write(header);
    second.write(other);
    const third = await open(port);
    third.write(header);
    await waitFor('one of the first client to go', () => closed.length > 0);
    expect(closed).toEqual(['address']);
    await waitFor('its end', () => first.resume().destroyed);
    expect(second.destroyed).toBe(false);
  });

  it('do not count by address while no client is named', async () => {
    const { port, closed } = await start({ strangersPerAddress: 1, proxies: { sendHeader: false } });
    const three = [await open(port), await open(port), await open(port)];
    expect(await clientOf({ port, isSecure: true }, [])).toBe('127.0.0.1');
    expect(closed).toEqual([]);
    expect(three.map(({ destroyed }) => destroyed)).toEqual([false, false, false]);
  });
});
