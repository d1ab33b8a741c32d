import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { upgradeText } from '../../../test/builders/upgrades.ts';
import { UpgradedResponse } from './upgraded-response.ts';

let server = createServer();
beforeEach(() => {
  server = createServer();
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

it('says when the client has taken what was written, as any response does', async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.write(upgradeText([]));
  const [request, , head] = (await once(server, 'upgrade')) as [IncomingMessage, unknown, Buffer];
  const response = new UpgradedResponse(request, head);
  for (let count = 0; count < 3; count += 1) {
    while (response.write(Buffer.alloc(2 ** 20)));
    expect(response.writableNeedDrain).toBe(true);
    const drained = once(response, 'drain');
    client.resume();
    await drained;
    expect(response.writableNeedDrain).toBe(false);
  }
  client.destroy();
  await once(response, 'close');
});

it('ends the connection of a client that sends much before it may, and also where each piece of it is small', async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined);
  client.write(upgradeText([]));
  const [request, , head] = (await once(server, 'upgrade')) as [IncomingMessage, unknown, Buffer];
  const response = new UpgradedResponse(request, head);
  const { socket } = request;
  // As the socket gives them when each comes by itself.
  for (let count = 0; count < 64; count += 1) socket.emit('data', Buffer.alloc(1));
  expect(socket.destroyed).toBe(false);
  socket.emit('data', Buffer.alloc(1));
  expect(socket.destroyed).toBe(true);
  client.destroy();
  await once(response, 'close');
});
