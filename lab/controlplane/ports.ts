import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** The system gives connections ports from 32768 on, and some servers listen only seconds or minutes from now. */
const ports = { from: 20_000, to: 32_000 };
/** By this process: some ask for several before they use one. */
const given = new Set<number>();

/**
 * A loopback port that is free now. Another process may take it before it is used: callers must be ready to try
 * again.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(ports.from, ports.to);
    if (given.has(port)) continue;
    given.add(port);
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
    return true;
  } catch {
    return false;
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
}
