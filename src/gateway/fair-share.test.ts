import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import {
  type Behaviour,
  type GatewayStage,
  gatewayStage,
  type StageOptions,
  verdictFor,
} from '../../test/builders/gateway-stage.ts';
import { waitFor } from '../../test/fakes/wait-for.ts';

const running: GatewayStage[] = [];
const clients = new Set<Socket>();
afterEach(async () => {
  for (const client of clients) client.destroy();
  clients.clear();
  await Promise.all(running.splice(0).map((stage) => stage.close()));
});

const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const path = '/kubernetes/management/api/v1/namespaces/default/configmaps';

/** A target that never answers `mallory`, and others at once. */
const slowForMallory: Behaviour = (socket, text) => {
  if (!text.includes('impersonate-user: mallory')) socket.write(ok);
};

async function start(options: StageOptions, behaviour = slowForMallory) {
  const stage = await gatewayStage(behaviour, options);
  running.push(stage);
  stage.know('key-of-alice', verdictFor());
  for (let index = 0; index < 20; index += 1)
    stage.know(`key-${index}-of-mallory`, verdictFor(undefined, 'mallory'));
  return stage;
}

const request = (key: string, query = '') =>
  `GET ${path}${query} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer ${key}\r\n\r\n`;
const statusOf = (answer: string): number => Number(answer.split(' ')[1]);

/** A client that stays until it is told to leave. */
function open({ port }: GatewayStage, text: string): { readonly leave: () => Promise<void> } {
  const socket = connect(port, '127.0.0.1', () => void socket.write(text));
  clients.add(socket);
  socket.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  return {
    leave: async () => {
      socket.destroy();
      await closed;
    },
  };
}

/** Resolves when the gateway has read what was sent before. */
const settled = async ({ send }: GatewayStage) =>
  void (await send('GET /version HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'));

/** As many requests of one user as they can have credentials. */
const flood = (stage: GatewayStage, query = '') =>
  Array.from({ length: 20 }, (_, index) => open(stage, request(`key-${index}-of-mallory`, query)));

describe('one user with many credentials and slow requests', () => {
  const connections = { connections: 4, longConnections: 4, maxWaiting: 4 };

  it.each([
    ['short requests', ''],
    ['watches', '?watch=true'],
  ])('takes no more than half of the connections for %s: others are served at once', async (_, query) => {
    const stage = await start(connections);
    flood(stage, query);
    await waitFor('the slow requests', () => stage.seen.length >= 2);
    await settled(stage);
    expect(stage.seen).toHaveLength(2);
    expect(statusOf(await stage.send(request('key-of-alice')))).toBe(200);
  });

  it('leaves no dead requests in the line when their clients go', async () => {
    const stage = await start(connections);
    const requests = flood(stage);
    await waitFor('the slow requests', () => stage.seen.length >= 2);
    await settled(stage);
    await Promise.all(requests.map(({ leave }) => leave()));
    await settled(stage);
    const answers = await Promise.all(
      Array.from({ length: 4 }, async () => await stage.send(request('key-of-alice'))),
    );
    expect(answers.map(statusOf)).toEqual([200, 200, 200, 200]);
  });

  it('has room in the line for others too', async () => {
    const held: Socket[] = [];
    const stage = await start({ connections: 2, maxWaiting: 4 }, (socket) => void held.push(socket));
    flood(stage);
    open(stage, request('key-of-alice'));
    await waitFor('a request of each', () => held.length === 2);
    await settled(stage);
    const waiting = stage.send(request('key-of-alice'));
    await settled(stage);
    for (const socket of held) socket.write(ok);
    await waitFor('the next requests', () => held.length === 4);
    for (const socket of held.slice(2)) socket.write(ok);
    expect(statusOf(await waiting)).toBe(200);
  });
});

describe('the limit for one user', () => {
  it.each([
    ['short requests', '', { maxShortOfUser: 3 }],
    ['watches', '?watch=true', { maxLongOfUser: 3 }],
  ])('counts the %s with all credentials, and nothing of others', async (_, query, limits) => {
    const stage = await start({ connections: 100, longConnections: 100, ...limits });
    const requests = flood(stage, query);
    await waitFor('the first requests', () => stage.seen.length === 3);
    await settled(stage);
    expect(stage.seen).toHaveLength(3);
    const refused = await stage.send(request('key-0-of-mallory', query));
    expect(refused).toMatch(/^HTTP\/1\.1 429 [\s\S]*retry-after: 1\r\n[\s\S]*requests of this user/);
    expect(statusOf(await stage.send(request('key-of-alice')))).toBe(200);
    await Promise.all(requests.map(({ leave }) => leave()));
    await settled(stage);
    open(stage, request('key-0-of-mallory', query));
    await waitFor('a request after these', () => stage.seen.length === 5);
  });
});

describe('a request that waits for a connection', () => {
  it('never reaches the target when its client leaves, and its place in the line is free', async () => {
    const held: Socket[] = [];
    const stage = await start({ connections: 1, maxWaiting: 2 }, (socket) => void held.push(socket));
    const first = stage.send(request('key-of-alice'));
    await waitFor('the first request', () => held.length === 1);
    for (let round = 0; round < 5; round += 1) {
      const client = open(stage, request('key-of-alice', '?left'));
      await settled(stage);
      await client.leave();
      await settled(stage);
    }
    const second = stage.send(request('key-of-alice'));
    await settled(stage);
    held[0]?.write(ok);
    expect(statusOf(await first)).toBe(200);
    await waitFor('the second request', () => held.length === 2);
    held[1]?.write(ok);
    expect(statusOf(await second)).toBe(200);
    expect(stage.seen.join('')).not.toContain('left');
  });

  it('never reaches the target when it was answered with 503', async () => {
    const held: Socket[] = [];
    const options = { connections: 1, maxWaiting: 4, maxWaitMs: 200 };
    const stage = await start(options, (socket) => void held.push(socket));
    const first = stage.send(request('key-of-alice'));
    await waitFor('the first request', () => held.length === 1);
    expect(await stage.send(request('key-of-alice', '?late'))).toMatch(
      /^HTTP\/1\.1 503 [\s\S]*retry-after: 1\r\n/,
    );
    held[0]?.write(ok);
    expect(statusOf(await first)).toBe(200);
    const next = stage.send(request('key-of-alice'));
    await waitFor('the next request', () => held.length === 2);
    held[1]?.write(ok);
    expect(statusOf(await next)).toBe(200);
    expect(stage.seen.join('')).not.toContain('late');
  });
});

describe('a connection to the target', () => {
  const halfAnswer: Behaviour = (socket, text) => {
    if (text.includes('half')) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf');
    else if (text.includes('cut')) socket.destroy();
    else if (text.includes('wrong')) socket.write('SSH-2.0\r\n');
    else if (!text.includes('silent')) socket.write(ok);
  };

  it('is free again however a request on it ends', async () => {
    const stage = await start({ connections: 2, maxWaiting: 0 }, halfAnswer);
    for (const query of ['?half', '?silent', '?cut', '?wrong', '?half', '?silent']) {
      const before = stage.seen.length;
      const client = open(stage, request('key-of-alice', query));
      await waitFor(`the request ${query}`, () => stage.seen.length > before);
      await client.leave();
      await settled(stage);
      expect(statusOf(await stage.send(request('key-of-alice')))).toBe(200);
    }
  });
});
