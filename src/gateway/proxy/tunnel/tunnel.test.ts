import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../../../../test/fakes/fake-clock.ts';
import { waitFor } from '../../../../test/fakes/wait-for.ts';
import type { UpgradedResponse } from '../../server/upgraded-response.ts';
import { Tunnel } from './tunnel.ts';

const open: { destroy(): unknown }[] = [];
afterEach(() => {
  for (const one of open.splice(0)) one.destroy();
});

/** Two ends of one connection. */
async function connection(): Promise<readonly [Socket, Socket]> {
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const far = connect({
    port: (server.address() as AddressInfo).port,
    host: '127.0.0.1',
    allowHalfOpen: true,
  });
  const [near] = (await once(server, 'connection')) as [Socket];
  server.close();
  open.push(near, far);
  for (const socket of [near, far]) socket.on('error', () => undefined);
  return [near, far];
}

async function start(isWebSocket = false) {
  let inputs = 0;
  const [[socket, client], [upstream, target]] = [await connection(), await connection()];
  const turns: { bytes: number; comes: () => void }[] = [];
  const turn = async (bytes: number) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    turns.push({ bytes, comes: resolve });
    await promise;
  };
  let cut: (why: string) => void = () => undefined;
  const handOver = (onCut: (why: string) => void) => {
    cut = onCut;
    return { socket, early: [] };
  };
  const response = { handOver } as unknown as UpgradedResponse;
  const clock = new FakeClock();
  const onInput = () => {
    inputs += 1;
  };
  const shared = { user: 'ann', turn, onInput, clock };
  new Tunnel({ response, upstream, head: 'head', isWebSocket, ...shared, maxMs: 0 }).start();
  return {
    client,
    target,
    socket,
    upstream,
    turns,
    clock,
    inputs: () => inputs,
    cut: (why: string) => cut(why),
  };
}

it.each<[string, boolean, Buffer, number]>([
  ['a letter in a frame', true, Buffer.from([0x82, 0x82, 0, 0, 0, 0, 0, 0x61]), 1],
  ['a letter in a frame of SPDY', false, Buffer.from([0, 0, 0, 1, 0, 0, 0, 1, 0x61]), 1],
  ['a ping of a websocket', true, Buffer.from([0x89, 0x80, 0, 0, 0, 0]), 0],
  ['a pong of a websocket', true, Buffer.from([0x8a, 0x80, 0, 0, 0, 0]), 0],
  ['a ping of SPDY', false, Buffer.from([0x80, 0x03, 0, 6, 0, 0, 0, 4, 0, 0, 0, 1]), 0],
  ['a piece of an upload', true, Buffer.alloc(8_192, 0x82), 0],
])('of what a client sends, %s counts as input or not', async (_, isWebSocket, bytes, counted) => {
  const { client, target, inputs } = await start(isWebSocket);
  client.write(bytes);
  const [received] = (await once(target, 'data')) as [Buffer];
  expect([received.length, inputs()]).toEqual([bytes.length, counted]);
});

describe('when the target has ended, what the client still sends', () => {
  it('counts for the user, and waits for their turn', async () => {
    const { client, target, socket, turns } = await start();
    target.end();
    await once(client.resume(), 'end');
    client.write(Buffer.alloc(8 * 2 ** 20));
    await waitFor('the line', () => turns.length === 1);
    expect(turns[0]?.bytes).toBeGreaterThanOrEqual(2 ** 16);
    const { bytesRead } = socket;
    await waitFor('the client is held back', () => client.writableLength > 0);
    expect(turns).toHaveLength(1);
    expect(bytesRead).toBeLessThan(2 ** 20);
    await waitFor('all of it', () => {
      turns.shift()?.comes();
      return socket.bytesRead === 8 * 2 ** 20;
    });
  });

  it('is cut when it is more than a client can have on its way', async () => {
    const { client, target, socket, turns } = await start();
    target.end();
    await once(client.resume(), 'end');
    client.write(Buffer.alloc(40 * 2 ** 20));
    await waitFor('the end', () => {
      turns.shift()?.comes();
      return socket.destroyed;
    });
    expect(socket.bytesRead).toBeGreaterThan(32 * 2 ** 20);
    expect(socket.bytesRead).toBeLessThan(34 * 2 ** 20);
  });
});

/** The target has ended when the system took no more for the client, who has read nothing yet. */
async function unreadTail() {
  const stage = await start();
  const { client, target, socket, upstream, turns } = stage;
  client.pause();
  let size = 'head'.length;
  const send = (bytes: number) => {
    size += bytes;
    target.write(Buffer.alloc(bytes));
  };
  await waitFor('the system is full', () => {
    turns.shift()?.comes();
    if (socket.writableLength === 0 && socket.bytesWritten === size) send(32_768);
    return socket.writableLength > 0;
  });
  send(1_000);
  target.end();
  await waitFor('its end', () => {
    turns.shift()?.comes();
    return upstream.readableEnded;
  });
  let received = 0;
  const read = () => {
    received += (client.read() as Buffer | null)?.length ?? 0;
    return received;
  };
  return { ...stage, read, size };
}

describe('when the target has ended, what it sent before', () => {
  it('reaches a client that reads slowly, for as long as it takes something every minute', async () => {
    const { socket, clock, read, size } = await unreadTail();
    for (let step = 0; !socket.writableFinished; step += 1) {
      clock.advance(40_000);
      const { writableLength } = socket;
      await waitFor('some progress', () => {
        read();
        return socket.writableLength < writableLength || socket.writableFinished;
      });
      expect(step).toBeLessThan(10);
    }
    await waitFor('all of it', () => read() === size);
  });

  it('is given up when the client takes nothing for a minute', async () => {
    const { socket, clock } = await unreadTail();
    clock.advance(59_999);
    expect(socket.destroyed).toBe(false);
    clock.advance(60_000);
    expect(socket.destroyed).toBe(true);
  });

  it('is given up after five minutes in any case', async () => {
    const { client, socket, clock, read } = await unreadTail();
    await waitFor('all is with the system', () => {
      read();
      return socket.writableFinished;
    });
    clock.advance(299_999);
    expect(socket.destroyed).toBe(false);
    clock.advance(1);
    expect(socket.destroyed).toBe(true);
    client.destroy();
  });
});

it('of what the client has sent nothing reaches the target once the tunnel is cut', async () => {
  const { client, target, upstream, turns, cut } = await start();
  target.pause();
  client.write(Buffer.alloc(16 * 2 ** 20));
  await waitFor('the target is full, and more waits', () => {
    turns.shift()?.comes();
    return upstream.writableLength > 0 && client.writableLength > 0;
  });
  const writes: number[] = [];
  const write = upstream.write.bind(upstream);
  upstream.write = ((bytes: Buffer, ...rest: never[]) => {
    writes.push(bytes.length);
    return write(bytes, ...rest);
  }) as typeof upstream.write;
  cut('revoked');
  expect([upstream.destroyed, writes]).toEqual([true, []]);
});
