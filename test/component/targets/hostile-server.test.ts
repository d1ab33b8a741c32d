import { createServer as createHTTP, type Server } from 'node:http';
import { type AddressInfo, createServer as createTCP, type Server as TCPServer } from 'node:net';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createAuthority } from '../../../lab/controlplane/certificates.ts';
import { configMaps } from '../../../src/api/resources.ts';
import type { KubeClient } from '../../../src/kube/client/client.ts';
import { targetProblemOf } from '../../../src/platform/targets/target-problem.ts';
import { adminDocument, certificateUser, type DocumentParts } from '../../builders/admin-kube-config.ts';
import type { Exchange } from '../../fakes/exchange.ts';
import { FakeApiServer } from '../../fakes/fake-api-server.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { waitFor } from '../../fakes/wait-for.ts';
import { four, TargetWorld } from './target-world.ts';

const canary = 'CANARY7f3a';
const key = { namespace: 'ns', name: 'a' };

let server: FakeApiServer;
let world: TargetWorld;

beforeEach(async () => {
  server = await FakeApiServer.start();
  world = new TargetWorld({ resolve: async () => [four('127.0.0.1')] });
});

afterEach(async () => {
  await world.clients.close();
  await server.stop();
});

async function clientOf(parts: DocumentParts = {}): Promise<KubeClient> {
  world.put(
    adminDocument({ server: server.url, authority: server.authority, user: { token: canary }, ...parts }),
  );
  return (await world.openTarget()).client;
}

/** The reason of the failure, which holds nothing that came from outside. */
async function problemOf(work: Promise<unknown>): Promise<string | undefined> {
  const error = await work.then(
    () => new Error('it worked'),
    (reason: unknown) => reason,
  );
  const problem = targetProblemOf(error);
  const said = inspect([error, problem, world.logged], { depth: 10, showHidden: true });
  for (const text of [canary, '127.0.0.1', 'localhost', 'target.test']) expect(said).not.toContain(text);
  return problem?.reason;
}

/** The same as `problemOf`, and whether it is there yet. */
function askFor(work: Promise<unknown>) {
  const asked = { isDone: false, problem: problemOf(work) };
  void asked.problem.then(() => {
    asked.isDone = true;
  });
  return asked;
}

/** From now on clients measure their time limits by this clock. */
async function withFakeClock(): Promise<FakeClock> {
  const clock = new FakeClock();
  await world.clients.close();
  world = new TargetWorld({ resolve: async () => [four('127.0.0.1')], clock });
  return clock;
}

const always = (answer: (exchange: Exchange) => void) =>
  server.script((exchange) => {
    answer(exchange);
    return true;
  });

describe('an API server that means harm', () => {
  it('is not waited for', async () => {
    const clock = await withFakeClock();
    always(() => undefined);
    const asked = askFor((await clientOf()).get(configMaps, key, { timeoutMs: 200 }));
    await waitFor('the request', () => server.exchanges.length === 1);
    await clock.advanceAsync(199);
    expect(asked.isDone).toBe(false);
    clock.advance(1);
    expect(await asked.problem).toBe('TargetUnreachable');
  });

  it('is not waited for longer than 5 s, also when it sends a byte now and then', async () => {
    const clock = await withFakeClock();
    let drips = 0;
    always(({ response }) => {
      response.writeHead(200);
      const drip = setInterval(() => response.write(' ', () => drips++), 5);
      response.on('close', () => clearInterval(drip));
    });
    const asked = askFor((await clientOf()).get(configMaps, key));
    for (let second = 1; second <= 5; second++) {
      expect(asked.isDone).toBe(false);
      const before = drips;
      await waitFor('another byte', () => drips > before);
      await clock.advanceAsync(1_000);
    }
    expect(await asked.problem).toBe('TargetUnreachable');
  });

  it.each([301, 302, 303, 307, 308])('is not followed elsewhere: %i', async (status) => {
    const other = await FakeApiServer.start();
    always((exchange) => exchange.answer(status, {}, { location: `${other.url}/${canary}` }));
    const client = await clientOf();
    expect(await problemOf(client.get(configMaps, key))).toBe('TargetAnswer');
    expect(await problemOf(client.create(configMaps, {}, { namespace: 'ns' }))).toBe('TargetAnswer');
    expect([other.handshakes, other.exchanges]).toEqual([0, []]);
    await other.stop();
  });

  it.each([
    ['no JSON', `<html>${canary}</html>`],
    ['half of it', `{"metadata":{"name":"${canary}`],
    ['JSON of another kind', `["${canary}"]`],
    ['nothing', ''],
  ])('is not understood when it says %s', async (_, body) => {
    always((exchange) => exchange.answer(200, body));
    expect(await problemOf((await clientOf()).get(configMaps, key))).toBe('TargetAnswer');
  });

  it('may not fill the log by what it refuses with', async () => {
    always((exchange) => exchange.refuse(403, canary, { message: `${canary}\n`.repeat(1_000) }));
    expect(await problemOf((await clientOf()).get(configMaps, key))).toBe('TargetForbidden');
  });

  it('may not keep us busy with repetitions', async () => {
    always((exchange) => exchange.refuse(429, 'TooManyRequests', { retryAfter: 0 }));
    expect(await problemOf((await clientOf()).get(configMaps, key))).toBe('TargetAnswer');
    expect(server.exchanges).toHaveLength(3);
  });

  it('may not make us wait by what it asks for', async () => {
    always((exchange) => exchange.refuse(503, 'ServiceUnavailable', { retryAfter: 3_600 }));
    expect(await problemOf((await clientOf()).get(configMaps, key))).toBe('TargetAnswer');
    expect(server.exchanges).toHaveLength(1);
  });

  it('may not send headers without end', async () => {
    always(({ response }) => {
      response.socket?.write(`HTTP/1.1 200 OK\r\n${`x-${canary}: ${canary}\r\n`.repeat(5_000)}`);
    });
    expect(await problemOf((await clientOf()).get(configMaps, key))).toBe('TargetAnswer');
  });

  it('may not send what is no HTTP', async () => {
    always(({ response }) => void response.socket?.end(`${canary}\r\n\r\n`));
    expect(await problemOf((await clientOf()).get(configMaps, key))).toBe('TargetAnswer');
  });

  it('may hang up', async () => {
    always((exchange) => exchange.reset());
    expect(await problemOf((await clientOf()).get(configMaps, key))).toBe('TargetUnreachable');
  });
});

describe('a body without end', () => {
  const chunk = Buffer.alloc(256 * 1024, 'x');

  /** Sends 5 GB, as fast as they are taken; gives how many bytes were. */
  const endless = (headers: Record<string, string | number>) => {
    const sent = { bytes: 0 };
    always(({ response }) => {
      response.writeHead(200, { 'content-type': 'application/json', ...headers });
      const more = (): void => {
        while (!response.destroyed && sent.bytes < 5e9) {
          sent.bytes += chunk.length;
          if (!response.write(chunk)) return;
        }
      };
      response.on('drain', more).on('error', () => undefined);
      more();
    });
    return sent;
  };

  it.each([
    ['an object, in chunks', {}, 16],
    ['an object, of a length that it names', { 'content-length': 5_000_000_000 }, 16],
  ])('of %s, is read to its limit only', async (_, headers, limit) => {
    const sent = endless(headers);
    const client = await clientOf();
    const before = process.memoryUsage().rss;
    expect(await problemOf(client.get(configMaps, key))).toBe('TargetAnswer');
    await waitFor('connection cut', () => server.openSockets === 0);
    expect(sent.bytes).toBeLessThan((limit + 12) * 2 ** 20);
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * 2 ** 20);
  });

  it('of a list, is read to its limit only', async () => {
    const sent = endless({});
    const client = await clientOf();
    expect(await problemOf(client.list(configMaps))).toBe('TargetAnswer');
    expect(sent.bytes).toBeGreaterThan(4 * 2 ** 20);
    expect(sent.bytes).toBeLessThan(16 * 2 ** 20);
  });

  it('of a refusal, is read to its limit only', async () => {
    const sent = { bytes: 0 };
    always(({ response }) => {
      response.writeHead(500);
      const more = (): void => {
        while (!response.destroyed && sent.bytes < 5e9 && response.write(chunk)) sent.bytes += chunk.length;
      };
      response.on('drain', more).on('error', () => undefined);
      more();
    });
    expect(await problemOf((await clientOf()).get(configMaps, key))).toBe('TargetAnswer');
    expect(sent.bytes).toBeLessThan(14 * 2 ** 20);
  });
});

describe('a server that is not the one', () => {
  it('gets no credentials when its certificate is of another authority', async () => {
    const client = await clientOf({ authority: createAuthority('other') });
    expect(await problemOf(client.get(configMaps, key))).toBe('TargetNotTrusted');
    expect(server.exchanges).toEqual([]);
  });

  it('gets no credentials when the environment switches verification off', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    try {
      const client = await clientOf({ authority: createAuthority('other') });
      expect(await problemOf(client.get(configMaps, key))).toBe('TargetNotTrusted');
      expect(server.exchanges).toEqual([]);
    } finally {
      vi.unstubAllEnvs();
    }
  });

  it('gets no credentials when its certificate is of another authority of the same name', async () => {
    const client = await clientOf({ authority: createAuthority('fake') });
    expect(await problemOf(client.get(configMaps, key))).toBe('TargetNotTrusted');
    expect(server.exchanges).toEqual([]);
  });

  it('gets no credentials when its certificate is for another host', async () => {
    const named = (host: string) => server.url.replace('127.0.0.1', host);
    const wrong = await clientOf({ server: named('target.test') });
    expect(await problemOf(wrong.get(configMaps, key))).toBe('TargetNotTrusted');
    expect(server.exchanges).toEqual([]);
    const right = await clientOf({ server: named('localhost') });
    expect((await right.list(configMaps)).items).toEqual([]);
  });

  it('gets no client certificate either', async () => {
    const client = await clientOf({ authority: createAuthority('other'), user: certificateUser() });
    expect(await problemOf(client.get(configMaps, key))).toBe('TargetNotTrusted');
    expect(server.handshakes).toBe(0);
  });

  const listening = async (listener: Server | TCPServer): Promise<number> => {
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    return (listener.address() as AddressInfo).port;
  };

  it('gets nothing when it speaks http', async () => {
    const requests: string[] = [];
    const plain = createHTTP((request, response) => {
      requests.push(request.url ?? '');
      response.end(canary);
    });
    const client = await clientOf({ server: `https://127.0.0.1:${await listening(plain)}` });
    expect(['TargetNotTrusted', 'TargetUnreachable']).toContain(await problemOf(client.get(configMaps, key)));
    expect(requests).toEqual([]);
    await new Promise((resolve) => plain.close(resolve));
  });

  it('is not waited for when it takes connections and says nothing', async () => {
    const sockets = new Set<{ destroy(): void }>();
    const silent = createTCP((socket) => void sockets.add(socket.on('error', () => undefined)));
    const client = await clientOf({ server: `https://127.0.0.1:${await listening(silent)}` });
    expect(await problemOf(client.get(configMaps, key, { timeoutMs: 300 }))).toBe('TargetUnreachable');
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => silent.close(resolve));
  });

  it('is named unreachable when nothing listens', async () => {
    const client = await clientOf();
    await server.stop();
    expect(await problemOf(client.get(configMaps, key))).toBe('TargetUnreachable');
  });

  it('that refuses our credentials is named by what it says', async () => {
    always((exchange) => exchange.refuse(401, 'Unauthorized', { message: canary }));
    expect(await problemOf((await clientOf()).get(configMaps, key))).toBe('TargetUnauthorized');
  });
});
