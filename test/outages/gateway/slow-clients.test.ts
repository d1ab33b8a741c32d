import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { connect, type TLSSocket } from 'node:tls';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RunningGateway } from '../../../lab/gateway/running-gateway.ts';
import { concurrently } from '../../../lab/operator/concurrently.ts';
import { giveRight } from '../../../lab/operator/rights.ts';
import { until } from '../../../lab/operator/until.ts';
import { configMaps, namespaces } from '../../../src/api/resources.ts';
import { gatewayWorld } from '../../e2e/gateway/gateway-world.ts';
import { untilKnown } from '../../e2e/gateway/known-holder.ts';
import { residentMiB } from './process-figures.ts';

const world = await gatewayWorld();
const { admin, plane, guard } = world;
const alice = world.name('alice');
await giveRight(admin, alice, { apiGroups: [''], resources: ['configmaps'], verbs: ['*'] });
const namespace = world.name('large');
const maps = `/kubernetes/management/api/v1/namespaces/${namespace}/configmaps`;

const stallMs = 8_000;
/** For a few hundred chunks of an answer. */
const chunkMs = 40;
const objects = 24;
const objectBytes = 900_000;
const clients = 16;
/** Kept for them, their answers would be 330 MiB. */
const maxGrowthMiB = 120;

const gateway = await RunningGateway.start(plane, guard, {
  name: world.name('slow'),
  env: { LATCHKEY_STALL_TIMEOUT: `${stallMs / 1_000}s` },
});
afterAll(async () => void (await gateway.end()));

const { key } = await world.holder({ user: alice });

beforeAll(async () => {
  await admin.createObject(namespaces, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: namespace },
  });
  await makeLarge('first');
  await untilKnown(gateway, key);
});

async function makeLarge(prefix: string): Promise<void> {
  const make = async () =>
    await admin.createObject(configMaps, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: world.name(prefix), namespace },
      data: { a: 'x'.repeat(objectBytes) },
    });
  await concurrently(Array.from({ length: objects }), make, 4);
}

/** Sends a request and takes the head of its answer and no more. */
async function openUnread(path: string): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port: gateway.port, ca: gateway.ca });
  socket.on('error', () => undefined);
  socket.write(`GET ${path} HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${key}\r\n\r\n`);
  await once(socket, 'readable');
  expect(String(socket.read(12))).toBe('HTTP/1.1 200');
  return socket;
}

function countLines(body: Readable): { readonly count: number } {
  let count = 0;
  body
    .on('error', () => undefined)
    .on('data', (chunk: Buffer) => {
      for (const byte of chunk) if (byte === newline) count += 1;
    });
  return {
    get count() {
      return count;
    },
  };
}
const newline = 0x0a;

/** The most memory that the gateway has in use above `before`, until the promise settles. */
async function growthUntil(ended: Promise<unknown>, before: number): Promise<number> {
  let most = 0;
  let isOver = false;
  const over = ended.finally(() => {
    isOver = true;
  });
  const look = async () => {
    most = Math.max(most, residentMiB(gateway.process.pid) - before);
    return isOver;
  };
  await until('it is over', look, { timeoutMs: 90_000, everyMs: 100 });
  await over;
  return most;
}

/** Requests that the gateway has not finished. */
async function underway(kind: 'short' | 'long'): Promise<number> {
  const port = await gateway.listeningPort('metrics');
  const { body } = await request(`http://127.0.0.1:${port}/metrics`);
  const line = (await body.text())
    .split('\n')
    .find((one) => one.includes(`requests_underway{kind="${kind}"`));
  return Number(line?.split(' ').at(-1));
}

describe('clients that do not read', () => {
  it('hold no memory with large answers, and are cut when they stand still', async () => {
    const before = residentMiB(gateway.process.pid);
    const sockets = await concurrently(Array.from({ length: clients }), async () => await openUnread(maps));
    const givenUp = async () => (await underway('short')) === 0;
    const stalled = until('the gateway has given them up', givenUp, { timeoutMs: 120_000 });
    expect(await growthUntil(stalled, before)).toBeLessThan(maxGrowthMiB);
    await Promise.all(sockets.map(async (socket) => await once(socket.resume(), 'close')));
  });

  it('of a watch hold no memory either, and others get each event', async () => {
    const { metadata } = await admin.client.list(configMaps, { namespace, limit: 1 });
    const watch = `${maps}?watch=true&resourceVersion=${metadata.resourceVersion}`;
    const reader = await gateway.send(watch, { key });
    const events = countLines(reader.body);
    const before = residentMiB(gateway.process.pid);
    const sockets = await concurrently(Array.from({ length: clients }), async () => await openUnread(watch));
    const changed = (async () => {
      await makeLarge('later');
      await until('every event', async () => events.count >= objects, { seen: () => events.count });
    })();
    expect(await growthUntil(changed, before)).toBeLessThan(maxGrowthMiB);
    for (const socket of sockets) socket.destroy();
    reader.body.destroy();
    await until('all watches are closed', async () => (await underway('long')) === 0);
  });
});

it('a client that reads slowly, and longer than a client may stand still, gets the whole answer', async () => {
  const answer = await gateway.send(maps, { key });
  const started = performance.now();
  const chunks: Buffer[] = [];
  for await (const chunk of answer.body as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    if (performance.now() - started < 1.5 * stallMs) await delay(chunkMs);
  }
  expect(performance.now() - started).toBeGreaterThan(1.5 * stallMs);
  expect(JSON.parse(Buffer.concat(chunks).toString())).toMatchObject({ kind: 'ConfigMapList' });
});
