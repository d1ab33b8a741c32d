import { createServer as createPlainServer } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createAuthority, createServer as createPair } from '../../../lab/controlplane/certificates.ts';
import { sendOverHTTPS } from './transport.ts';

const authority = createAuthority('latchkey-cli-test');
const { certificate, key } = createPair(authority, ['localhost']);
const running: { close: () => unknown; closeAllConnections: () => void }[] = [];
afterEach(() => {
  vi.unstubAllEnvs();
  for (const server of running.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function listen(server: Server | ReturnType<typeof createPlainServer>): Promise<string> {
  running.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `https://localhost:${(server.address() as AddressInfo).port}/a`;
}

const send = async (url: string, more: object = {}) =>
  await sendOverHTTPS({
    ...{ method: 'POST', url, headers: { 'x-a': 'b' }, body: '{}', ca: authority.certificate },
    ...{ timeoutMs: 10_000, signal: new AbortController().signal, ...more },
  });

describe('a request', () => {
  it('is sent with its body, and brings status, headers and text', async () => {
    const url = await listen(
      createServer({ cert: certificate, key }, (request, response) => {
        let text = '';
        request.on('data', (part) => {
          text += part;
        });
        request.on('end', () =>
          response.writeHead(201, { 'x-c': 'd' }).end(`${request.method} ${request.headers['x-a']} ${text}`),
        );
      }),
    );
    expect(await send(url)).toMatchObject({ status: 201, headers: { 'x-c': 'd' }, text: 'POST b {}' });
  });

  it('ends when no answer comes in time', async () => {
    const url = await listen(createServer({ cert: certificate, key }, () => undefined));
    await expect(send(url, { timeoutMs: 200 })).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('does not answer'),
    });
  });

  it('ends when the answer stands still', async () => {
    const url = await listen(
      createServer({ cert: certificate, key }, (_, response) => response.writeHead(200).write('{')),
    );
    await expect(send(url, { timeoutMs: 200 })).rejects.toMatchObject({ kind: 'unavailable' });
  });

  it.each<[string, object, string]>([
    [
      'of an unknown authority',
      { ca: createAuthority('another').certificate },
      'an authority that is not trusted here',
    ],
    ['where only the system trusts authorities', { ca: undefined }, 'an authority that is not trusted here'],
  ])('goes to no server %s', async (_, more, problem) => {
    const url = await listen(createServer({ cert: certificate, key }, (__, response) => response.end('{}')));
    await expect(send(url, more)).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining(problem),
    });
  });

  it('goes to no such server where NODE_TLS_REJECT_UNAUTHORIZED lets other programs do so', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    const url = await listen(createServer({ cert: certificate, key }, (_, response) => response.end('{}')));
    await expect(send(url, { ca: undefined })).rejects.toMatchObject({ kind: 'unavailable' });
  });

  it('goes to no server with a certificate for another name', async () => {
    const other = createPair(authority, ['other.example.com']);
    const url = await listen(
      createServer({ cert: other.certificate, key: other.key }, (_, response) => response.end('{}')),
    );
    await expect(send(url.replace('127.0.0.1', 'localhost'))).rejects.toMatchObject({
      message: expect.stringContaining('is for other names than localhost'),
    });
  });

  it('says that a port speaks plain HTTP, and that nothing listens', async () => {
    const url = await listen(createPlainServer((_, response) => response.end('{}')));
    await expect(send(url)).rejects.toMatchObject({ message: expect.stringContaining('does not speak TLS') });
    for (const server of running.splice(0)) await new Promise((resolve) => (server as Server).close(resolve));
    await expect(send(url)).rejects.toMatchObject({
      message: expect.stringContaining('nothing listens at localhost'),
    });
  });

  it('ends with Ctrl-C', async () => {
    const controller = new AbortController();
    const url = await listen(createServer({ cert: certificate, key }, () => controller.abort()));
    await expect(send(url, { signal: controller.signal })).rejects.toMatchObject({ kind: 'unavailable' });
  });
});
