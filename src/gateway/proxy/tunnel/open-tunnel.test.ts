import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { FakeClock } from '../../../../test/fakes/fake-clock.ts';
import { waitFor } from '../../../../test/fakes/wait-for.ts';
import type { UpgradedResponse } from '../../server/upgraded-response.ts';
import { openTunnel } from './open-tunnel.ts';

/** Two ends of one connection. */
async function connection(): Promise<readonly [Socket, Socket]> {
  const server = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const far = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' });
  const [near] = (await once(server, 'connection')) as [Socket];
  server.close();
  return [near, far];
}

it('a session is charged for bytes that are passed on, waits for turns without any that are kept, and tells of input', async () => {
  const [[socket, client], [upstream, target]] = [await connection(), await connection()];
  const charged: number[] = [];
  const turns: unknown[][] = [];
  let inputs = 0;
  const response = { handOver: () => ({ socket, early: [] }) } as unknown as UpgradedResponse;
  const tunnel = {
    request: { protocol: 'SPDY/3.1' as const, headers: [], offered: new Set<string>(), hasExtensions: false },
    ...{ response, maxMs: 0 },
    onInput: () => {
      inputs += 1;
    },
  };
  const place = {
    ...{ tunnel, clock: new FakeClock(), send: { user: 'ann' } },
    turn: async (...args: unknown[]) => void turns.push(args),
    charge: (bytes: number) => void charged.push(bytes),
  };
  openTunnel(place, { upstream, rawHeaders: ['Connection', 'Upgrade', 'Upgrade', 'SPDY/3.1'] });
  const sent = 16 * 2 ** 20;
  let received = 0;
  client.on('data', ({ length }: Buffer) => {
    received += length;
  });
  target.write(Buffer.alloc(sent));
  await waitFor('all of it', () => received > sent);
  // Bytes after the last turn are not charged yet.
  expect(charged.reduce((sum, bytes) => sum + bytes, 0)).toBeGreaterThan(1.9 * sent);
  expect(turns).toEqual(charged.map(() => []));
  expect(inputs).toBe(0);
  client.write('a letter');
  await waitFor('the letter', () => inputs === 1);
  for (const one of [socket, client, upstream, target]) one.destroy();
});
