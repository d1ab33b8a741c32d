import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** A response over a real connection that has begun, and its reader, who has read nothing yet. Both end with the test. */
export async function openResponse(): Promise<{ response: ServerResponse; reader: IncomingMessage }> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const asked = request({ host: '127.0.0.1', port });
  onTestFinished(() => {
    asked.destroy();
    server.closeAllConnections();
    server.close();
  });
  const requested = once(server, 'request');
  const answered = once(asked, 'response');
  asked.on('error', () => undefined).end();
  const [, response] = (await requested) as [IncomingMessage, ServerResponse];
  response.flushHeaders();
  const [reader] = (await answered) as [IncomingMessage];
  reader.on('error', () => undefined);
  return { response, reader };
}
