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

async function start() {
  const [[socket, client], [upstream, target]] = [await connection(), await connection()];
  const turns: { bytes: number; comes: () => void }[] = [];
  const turn = async (bytes: number) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    turns.push({ bytes, comes: resolve });
    await promise;
  };
  const response = { handOver: () => ({ socket, early: [] }) } as unknown as UpgradedResponse;
  const clock = new FakeClock();
  new Tunnel({ response, upstream, head: 'head', isWebSocket: false, turn, clock, maxMs: 0 }).start();
  return { client, target, socket, turns };
}

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
