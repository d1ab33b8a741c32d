import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import {
  type Behaviour,
  type GatewayStage,
  gatewayStage,
  type StageOptions,
  verdictFor,
} from '../../test/builders/gateway-stage.ts';
import type { Exchange } from '../../test/fakes/exchange.ts';
import { FakeApiServer } from '../../test/fakes/fake-api-server.ts';
import { waitFor } from '../../test/fakes/wait-for.ts';
import { createKubeClient, type KubeClient } from '../kube/client/client.ts';

const running: GatewayStage[] = [];
const platforms: { readonly server: FakeApiServer; readonly client: KubeClient }[] = [];
const clients = new Set<Socket>();
afterEach(async () => {
  for (const client of clients) client.destroy();
  clients.clear();
  await Promise.all(running.splice(0).map((stage) => stage.close()));
  for (const { server, client } of platforms.splice(0)) {
    await client.close();
    await server.stop();
  }
});

const yes = { status: { allowed: true } };
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

it('a user with all their places taken does not keep the agent of their cluster from its stream', async () => {
  const stage = await start({ connections: 100, longConnections: 100, maxLongOfUser: 3 });
  flood(stage, '?watch=true');
  await waitFor('the first requests', () => stage.seen.length === 3);
  await settled(stage);
  expect(statusOf(await stage.send(request('key-0-of-mallory', '?watch=true')))).toBe(429);
  const scope = { roles: [{ role: 'agent' }], clusters: [{ cluster: 'west' }] };
  stage.know('agent-of-mallory', verdictFor(scope, 'mallory'));
  const collection = '/kubernetes/management/apis/management.platform.sh/v1/clusters';
  const follow = request('agent-of-mallory', '?watch=true').replace(
    path,
    `${collection}/west/livecredentials`,
  );
  // There is no such cluster here.
  expect(statusOf(await stage.send(follow))).toBe(404);
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

describe('one user who asks for ever other targets', () => {
  const limits = { questions: 4, maxWaiting: 4 };
  const versionOf = (cluster: string, key: string) =>
    request(key).replace(path, `/kubernetes/cluster/${cluster}/version`);

  /** A gateway in front of a platform that answers no question of mallory, and those of others at once. */
  async function startWithPlatform(options: StageOptions = {}) {
    const server = await FakeApiServer.start();
    const client = createKubeClient({
      ...{ kubeConfig: server.kubeConfig(), userAgent: 'test' },
      ...{ connections: limits.questions, maxWaiting: limits.maxWaiting, timeoutMs: 30_000 },
    });
    platforms.push({ server, client });
    const held: Exchange[] = [];
    server.script((exchange) => {
      if (exchange.headers['impersonate-user'] === 'mallory') held.push(exchange);
      else exchange.answer(201, yes);
      return true;
    });
    const stage = await start({ ...limits, ...options, platform: client }, (socket) => void socket.write(ok));
    const attack = (count = 20) =>
      Array.from({ length: count }, (_, index) =>
        open(stage, versionOf(`c${index}`, `key-${index}-of-mallory`)),
      );
    return { stage, held, attack };
  }

  it('takes no more than half of the questions: others enter at once', async () => {
    const { stage, held, attack } = await startWithPlatform();
    attack();
    await waitFor('the first questions', () => held.length >= 2);
    await settled(stage);
    expect(held).toHaveLength(2);
    for (const cluster of ['a', 'b', 'c'])
      expect(statusOf(await stage.send(versionOf(cluster, 'key-of-alice')))).toBe(200);
    expect(held).toHaveLength(2);
  });

  it('waits for a turn in half of the line, and gets 503 beyond it or when none comes', async () => {
    const { stage, held, attack } = await startWithPlatform();
    attack(4);
    await waitFor('the first questions', () => held.length === 2);
    await settled(stage);
    const busy = /^HTTP\/1\.1 503 [\s\S]*retry-after: 1\r\n[\s\S]*too many requests wait/;
    expect(await stage.send(versionOf('more', 'key-5-of-mallory'))).toMatch(busy);
    const late = stage.send(versionOf('c3', 'key-6-of-mallory'));
    expect(await late).toMatch(busy);
    for (const exchange of held.splice(0)) exchange.answer(201, yes);
    const next = stage.send(versionOf('next', 'key-7-of-mallory'));
    await waitFor('its question', () => held.length === 1);
    held[0]?.answer(201, yes);
    expect(statusOf(await next)).toBe(200);
  });

  it.each<[string, StageOptions, (index: number) => string]>([
    ['its user', { maxShortOfUser: 3 }, (index) => `key-${index}-of-mallory`],
    ['its credential', { maxShort: 3 }, () => 'key-0-of-mallory'],
  ])(
    'counts for %s while it waits, and goes on to count when its client has left',
    async (_, options, keyOf) => {
      const { stage, held } = await startWithPlatform({ questions: 8, maxWaiting: 100, ...options });
      const clients = [0, 1, 2].map((index) => open(stage, versionOf(`c${index}`, keyOf(index))));
      await waitFor('the questions', () => held.length === 3);
      await Promise.all(clients.map(({ leave }) => leave()));
      await settled(stage);
      const refused = /^HTTP\/1\.1 429 [\s\S]*retry-after: 1\r\n/;
      expect(await stage.send(versionOf('more', keyOf(3)))).toMatch(refused);
      expect(statusOf(await stage.send(versionOf('c', 'key-of-alice')))).toBe(200);
      for (const exchange of held.splice(0)) exchange.answer(201, yes);
      const isRefused = async () => statusOf(await stage.send(versionOf('c0', keyOf(3)))) === 429;
      while (await isRefused());
      expect(statusOf(await stage.send(versionOf('c0', keyOf(3))))).toBe(200);
    },
  );

  it('shares a question with all who ask the same', async () => {
    const { stage, held } = await startWithPlatform({ maxWaiting: 100 });
    const answers = Array.from({ length: 20 }, (_, index) =>
      stage.send(versionOf('c', `key-${index}-of-mallory`)),
    );
    await waitFor('the question', () => held.length === 1);
    await settled(stage);
    held[0]?.answer(201, yes);
    expect((await Promise.all(answers)).map(statusOf)).toEqual(answers.map(() => 200));
    expect(held).toHaveLength(1);
  });
});
