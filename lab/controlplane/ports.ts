import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * A loopback port that is free now. Another process may take it before it is used: callers must be ready to try
 * again.
 */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('the system gave no port');
  return address.port;
}
