import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { waitFor } from '../../../test/fakes/wait-for.ts';
import { type ConnectionLimits, Connections } from './connections.ts';
import { TrustedProxies } from './trusted-proxies.ts';

const servers: Server[] = [];
const clients: Socket[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy();
  for (const server of servers.splice(0)) server.close();
});

interface Client {
  readonly socket: Socket;
  readonly server: Socket;
  readonly isOpen: () => boolean;
}

/** A server with these limits. Clients come from the loopback address that the test names. */
async function start(changes: Partial<ConnectionLimits> = {}) {
  const clock = new FakeClock();
  const limits = { connections: 8, strangersPerAddress: 0, strangerGraceMs: 1_000, ...changes };
  const closed: string[] = [];
  const connections = new Connections({
    ...{ limits, clock, onClosed: (limit) => void closed.push(limit) },
    proxies: new TrustedProxies([]),
  });
  const accepted: Socket[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    connections.add(socket);
    accepted.push(socket);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, resolve));
  const { port } = server.address() as AddressInfo;
  const open = async (localAddress = '127.0.0.1'): Promise<Client> => {
    const before = accepted.length;
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    clients.push(socket.on('error', () => undefined));
    await waitFor('a connection', () => accepted.length > before);
    const own = accepted[before] as Socket;
    return { socket, server: own, isOpen: () => !own.destroyed };
  };
  const openMany = async (count: number, address?: string) => {
    const opened: Client[] = [];
    for (let index = 0; index < count; index += 1) opened.push(await open(address));
    return opened;
  };
  return { clock, connections, closed, open, openMany };
}

const openOnes = (all: readonly Client[]) => all.map(({ isOpen }) => isOpen());

describe('one connection more than there may be', () => {
  it('closes the oldest stranger', async () => {
    const { clock, closed, open, openMany } = await start({ connections: 3 });
    const first = await openMany(3);
    clock.advance(1_000);
    expect((await open()).isOpen()).toBe(true);
    expect(openOnes(first)).toEqual([false, true, true]);
    expect(closed).toEqual(['all']);
  });

  it('is closed itself while every stranger is young', async () => {
    const { clock, open, openMany } = await start({ connections: 3 });
    const first = await openMany(3);
    clock.advance(999);
    expect((await open()).isOpen()).toBe(false);
    expect(openOnes(first)).toEqual([true, true, true]);
  });

  it('closes no one who showed a live credential', async () => {
    const { clock, connections, open, openMany } = await start({ connections: 2 });
    const all = await openMany(2);
    for (const [index, { server }] of all.entries()) connections.authenticated(server, `user-${index}`);
    clock.advance(10_000);
    expect((await open()).isOpen()).toBe(false);
    expect(openOnes(all)).toEqual([true, true]);
  });

  it('is none any more when another one has ended', async () => {
    const { open, openMany } = await start({ connections: 2 });
    const [first, second] = await openMany(2);
    first?.socket.destroy();
    await waitFor('its end', () => first?.server.closed === true);
    expect((await open()).isOpen()).toBe(true);
    expect(second?.isOpen()).toBe(true);
  });
});

describe('strangers from one address', () => {
  it('have a limit of their own, and others have theirs', async () => {
    const { clock, closed, open, openMany } = await start({ strangersPerAddress: 2 });
    const others = await openMany(2, '127.0.0.2');
    clock.advance(1_000);
    const own = await openMany(2, '127.0.0.3');
    expect((await open('127.0.0.3')).isOpen()).toBe(false);
    clock.advance(1_000);
    expect((await open('127.0.0.3')).isOpen()).toBe(true);
    expect(openOnes(own)).toEqual([false, true]);
    expect(openOnes(others)).toEqual([true, true]);
    expect(closed).toEqual(['address', 'address']);
  });

  it('are not counted once they showed a live credential', async () => {
    const { connections, open, openMany } = await start({ connections: 100, strangersPerAddress: 2 });
    for (let round = 0; round < 5; round += 1) {
      const all = await openMany(2);
      for (const { server } of all) connections.authenticated(server, 'alice');
      expect(openOnes(all)).toEqual([true, true]);
    }
    expect((await open()).isOpen()).toBe(true);
  });
});

describe('one user', () => {
  it('keeps a quarter of all connections; the others can be closed like those of strangers', async () => {
    const { clock, connections, open, openMany } = await start({ connections: 8 });
    const ofMallory = await openMany(8);
    for (const { server } of ofMallory) connections.authenticated(server, 'mallory');
    clock.advance(1_000);
    for (let index = 0; index < 6; index += 1)
      connections.authenticated((await open()).server, `user-${index}`);
    expect(openOnes(ofMallory)).toEqual([true, true, ...Array(6).fill(false)]);
  });

  it('can keep others when some have ended', async () => {
    const { clock, connections, open, openMany } = await start({ connections: 4 });
    const [first, second, third, fourth] = await openMany(4);
    connections.authenticated(first?.server as Socket, 'mallory');
    connections.authenticated(second?.server as Socket, 'mallory');
    first?.socket.destroy();
    await waitFor('its end', () => first?.server.closed === true);
    connections.authenticated(second?.server as Socket, 'mallory');
    clock.advance(1_000);
    await open();
    await open();
    expect(openOnes([second, third, fourth] as Client[])).toEqual([true, false, true]);
  });
});

it('nothing is left of connections that ended, in whatever order', async () => {
  const { clock, connections, openMany } = await start({ connections: 6, strangersPerAddress: 4 });
  for (let round = 0; round < 20; round += 1) {
    const all = [...(await openMany(4, '127.0.0.2')), ...(await openMany(3, '127.0.0.3'))];
    for (const [index, { server }] of all.entries())
      if ((index + round) % 3 === 0) connections.authenticated(server, `user-${index % 2}`);
    if (round % 2 === 0) all.reverse();
    for (const { socket } of all) socket.destroy();
    await waitFor('the end of all', () => all.every(({ server }) => server.closed));
    clock.advance(round % 3 === 0 ? 1_000 : 0);
  }
  const fresh = await openMany(4, '127.0.0.2');
  expect(openOnes([...fresh, ...(await openMany(2, '127.0.0.3'))])).toEqual(Array(6).fill(true));
});
