import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { request } from 'undici';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { closeGracefully, listenOn } from './listening.ts';

const servers: ReturnType<typeof createServer>[] = [];
const serverOf = (listener: RequestListener = () => undefined) => {
  const server = createServer(listener);
  servers.push(server);
  return server;
};
afterEach(async () => {
  for (const server of servers.splice(0))
    if (server.listening) await new Promise((done) => server.close(done));
});

const never = () => ({ cancel: () => undefined });

describe('a server', () => {
  it.each([
    ['127.0.0.1', '127.0.0.1:'],
    ['::1', '[::1]:'],
  ])('that finds its port on %s taken says where, and for what', async (host, shown) => {
    const { port } = await listenOn(serverOf(), { host, port: 0 }, 'the first');
    await expect(listenOn(serverOf(), { host, port }, 'the second')).rejects.toMatchObject({
      code: 'ERR_LISTEN',
      message: `cannot listen on ${shown}${port} for the second: EADDRINUSE`,
    });
  });

  it('lives on when a connection cannot be accepted', async () => {
    const server = serverOf();
    await listenOn(server, { host: '127.0.0.1', port: 0 }, 'tests');
    expect(() => server.emit('error', new Error('EMFILE'))).not.toThrow();
  });

  it('is closed twice, and again before it has listened', async () => {
    const server = serverOf();
    await closeGracefully(server, never);
    await listenOn(server, { host: '127.0.0.1', port: 0 }, 'tests');
    await closeGracefully(server, never);
    await closeGracefully(server, never);
    expect(server.listening).toBe(false);
  });

  it('cuts the answer that the grace was too short for', async () => {
    const server = serverOf((_request, response) => void response.writeHead(200).write('a'));
    const { port } = await listenOn(server, { host: '127.0.0.1', port: 0 }, 'tests');
    const { body } = await request(`http://127.0.0.1:${port}`);
    const cut = once(body, 'error');
    const cancel = vi.fn();
    const grace = Promise.withResolvers<() => void>();
    const closed = closeGracefully(server, (onEnd) => {
      grace.resolve(onEnd);
      return { cancel };
    });
    body.resume();
    (await grace.promise)();
    await Promise.all([cut, closed]);
    expect(cancel).toHaveBeenCalledOnce();
  });
});
