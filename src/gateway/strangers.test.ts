import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { type GatewayStage, gatewayStage, type StageOptions } from '../../test/builders/gateway-stage.ts';
import { waitFor } from '../../test/fakes/wait-for.ts';

const key = 'a-key-that-alice-chose-herself';
const path = '/kubernetes/management/api/v1/namespaces/default/configmaps';
const running: GatewayStage[] = [];
const clients = new Set<Socket>();
afterEach(async () => {
  for (const client of clients) client.destroy();
  clients.clear();
  await Promise.all(running.splice(0).map((stage) => stage.close()));
});

async function start(options: StageOptions) {
  const stage = await gatewayStage(
    (socket, text) =>
      void socket.write(
        text.includes('watch=true')
          ? 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'
          : 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
      ),
    options,
  );
  running.push(stage);
  stage.know(key);
  return stage;
}

const request = (query = '') =>
  `GET ${path}${query} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nConnection: keep-alive\r\n\r\n`;

/** A client that sends this and stays. */
async function open({ port, isSecure }: GatewayStage, text: string) {
  const received: string[] = [];
  const target = { port, host: '127.0.0.1' };
  const socket = isSecure ? connectTls({ ...target, rejectUnauthorized: false }) : connect(target);
  clients.add(socket);
  socket.on('error', () => undefined).on('data', (chunk) => void received.push(chunk.toString('latin1')));
  await once(socket, isSecure ? 'secureConnect' : 'connect').catch(() => undefined);
  socket.write(text);
  return { socket, received, answered: () => received.join('').includes('HTTP/1.1 200') };
}

/** Whether a holder of a credential is served, before long. */
async function isServed(stage: GatewayStage): Promise<boolean> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const { socket, answered } = await open(stage, request());
    await waitFor('an answer, or the end', () => answered() || socket.destroyed);
    socket.destroy();
    if (answered()) return true;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return false;
}

const chunk = `1000\r\n${'a'.repeat(0x1000)}\r\n`;

describe.each([
  ['without TLS', false],
  ['with TLS', true],
])('strangers, %s', (_, isSecure) => {
  it.each([
    ['say nothing', ''],
    ['send half a head', 'GET / HTTP/1.1\r\nHost: a\r\n'],
    ['ask for the version and stay', 'GET /version HTTP/1.1\r\nHost: a\r\n\r\n'],
  ])('who fill the server and %s keep out no one who has a credential', async (__, text) => {
    const stage = await start({ clientConnections: 8, isSecure });
    const watch = await open(stage, request('?watch=true'));
    await waitFor('the watch', watch.answered);
    for (let index = 0; index < 12; index += 1) await open(stage, text);
    expect(await isServed(stage)).toBe(true);
    expect(watch.socket.destroyed).toBe(false);
  });
});

describe('misses from one address', () => {
  const missing = `GET ${path} HTTP/1.1\r\nHost: a\r\n`;
  const statusOf = (answer: string): number => Number(answer.split(' ')[1]);

  it.each([
    ['no credential', `${missing}\r\n`],
    ['an unknown credential', `${missing}Authorization: Bearer unknown\r\n\r\n`],
    ['a key with a typing error', `${missing}Authorization: Bearer lk_typo\r\n\r\n`],
    ['a disabled key', `${missing}Authorization: Bearer disabled\r\n\r\n`],
  ])('with %s get 429 in the end, and a live credential from there passes', async (_, text) => {
    const stage = await start({ missesPerAddress: 3 });
    stage.know('disabled', { reason: 'Disabled' });
    for (let count = 0; count < 3; count += 1) expect(statusOf(await stage.send(text))).toBe(401);
    for (let count = 0; count < 3; count += 1)
      expect(await stage.send(text)).toMatch(
        /^HTTP\/1\.1 429 [\s\S]*retry-after: 10\r\n[\s\S]*Connection: close\r\n[\s\S]*ERR_TOO_MANY_UNAUTHENTICATED/,
      );
    for (let count = 0; count < 6; count += 1) {
      const live = request().replace('keep-alive', 'close');
      expect(statusOf(await stage.send(live))).toBe(200);
    }
  });

  it('count for the client that a trusted proxy names, and the target hears of that one alone', async () => {
    const proxies = { trusted: ['127.0.0.0/8'], sendHeader: false };
    const stage = await start({ missesPerAddress: 1, proxies });
    const from = (client: string) => `X-Forwarded-For: 192.0.2.66, ${client}\r\n\r\n`;
    expect(statusOf(await stage.send(missing + from('203.0.113.7')))).toBe(401);
    expect(statusOf(await stage.send(missing + from('203.0.113.7')))).toBe(429);
    expect(statusOf(await stage.send(missing + from('203.0.113.8')))).toBe(401);
    const live = request()
      .replace('keep-alive', 'close')
      .replace('\r\n\r\n', `\r\n${from('203.0.113.7')}`);
    expect(statusOf(await stage.send(live))).toBe(200);
    expect(stage.seen.at(-1)?.match(/x-forwarded-for: .*/gi)).toEqual(['x-forwarded-for: 203.0.113.7']);
  });

  it('are not those that are answered with 503 because the index is stale', async () => {
    const stage = await start({ missesPerAddress: 3 });
    stage.state.problem = 'stale';
    const live = request().replace('keep-alive', 'close');
    for (let count = 0; count < 6; count += 1) expect(statusOf(await stage.send(live))).toBe(503);
    stage.state.problem = undefined;
    expect(statusOf(await stage.send(`${missing}\r\n`))).toBe(401);
  });
});

describe('the body of a request from anyone', () => {
  it.each([
    ['for the version', 'GET /version HTTP/1.1', 200],
    ['without a credential', `POST ${path} HTTP/1.1`, 401],
  ])('%s is not read: the connection closes', async (_, line, status) => {
    const stage = await start({});
    const { socket, received } = await open(
      stage,
      `${line}\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}`,
    );
    const sending = setInterval(() => socket.writable && socket.write(chunk), 5);
    await waitFor('the end', () => socket.destroyed);
    clearInterval(sending);
    // The answer may be lost with the connection, because the client goes on sending.
    expect(received.join('')).toMatch(new RegExp(`^(?:HTTP/1\\.1 ${status} |$)`));
  });
});
