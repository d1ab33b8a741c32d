import { readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, describe, expect, it } from 'vitest';
import type { ControlPlaneAccess } from '../../../lab/controlplane/access.ts';
import { RunningGateway } from '../../../lab/gateway/running-gateway.ts';
import { concurrently } from '../../../lab/operator/concurrently.ts';
import { startInstalled } from '../../../lab/operator/installed-plane.ts';
import { giveRight } from '../../../lab/operator/rights.ts';
import { until } from '../../../lab/operator/until.ts';
import { WriteGate } from '../../../lab/operator/write-gate.ts';
import { systemNamespace } from '../../../src/api/names.ts';
import { configMaps, secrets } from '../../../src/api/resources.ts';
import { clientWith } from '../../e2e/gateway/api-client.ts';
import { gatewayWorld } from '../../e2e/gateway/gateway-world.ts';
import { knownHolder, untilKnown } from '../../e2e/gateway/known-holder.ts';
import { type OwnClient, type OwnWatch, ownClient, ownKeys } from '../../e2e/gateway/own-client.ts';
import { Load } from './load.ts';

// Each of these waits for about a minute, so they wait at the same time.
const lonely = await startInstalled({ name: 'gateway-away' });
afterAll(async () => await lonely.stop());
/** The shortest limit for what a gateway knows. */
const staleAfter = { LATCHKEY_STALE_AFTER: '25s' };
const [world, away] = await Promise.all([gatewayWorld(), gatewayWorld(staleAfter, {}, lonely)]);
const { admin, plane } = world;
/** Between a gateway that has read its next credential and the API server, so that it shows when the gateway has. */
const gate = await WriteGate.start(plane);
afterAll(async () => await gate.close());
const alice = world.name('alice');
for (const api of [admin, away.admin])
  await giveRight(api, alice, { apiGroups: [''], resources: ['configmaps'], verbs: ['*'] });
const maps = '/kubernetes/management/api/v1/namespaces/default/configmaps';

/** A token of the gateway that ends at once when its Secret is deleted, with a kubeconfig for this way to the API server. */
async function endableToken(way: ControlPlaneAccess = plane) {
  const name = world.name('token');
  const metadata = { name, namespace: systemNamespace };
  const secret = await admin.createObject(secrets, { apiVersion: 'v1', kind: 'Secret', metadata });
  const { stdout, stderr } = await plane.kubectl([
    ...['create', 'token', 'latchkey-gateway', '-n', systemNamespace, '--duration=1h'],
    ...['--bound-object-kind=Secret', `--bound-object-name=${name}`],
  ]);
  if (stdout === '') throw new Error(stderr);
  const kubeconfig = await way.kubeconfigWithToken('latchkey-gateway', stdout.trim());
  const client = await clientWith(kubeconfig);
  const end = async () => {
    await admin.delete(secret);
    // The API server believes a token for ten seconds more.
    const refused = async () => (await client.status({ path: '/version' })) === 401;
    await until('the token is refused', refused, { timeoutMs: 120_000 });
  };
  return { kubeconfig, end };
}

/** The first request after a token has ended meets that, however many there are, and they go on for a minute. */
const paceMs = 300;

/** A gateway with a credential file that can be replaced, and requests that go through it. */
async function gatewayUnderLoad() {
  const first = await endableToken();
  const file = path.join(world.guard.folder, `${world.name('own')}.yaml`);
  await writeFile(file, await readFile(first.kubeconfig), { mode: 0o600 });
  const name = world.name('rotating');
  const gateway = await RunningGateway.start(plane, world.guard, { name, kubeconfig: file });
  afterAll(async () => void (await gateway.end()));
  const { key } = await world.holder({ user: alice });
  await untilKnown(gateway, key);
  const replace = async (way?: ControlPlaneAccess) => {
    const next = await endableToken(way);
    await writeFile(`${file}.new`, await readFile(next.kubeconfig), { mode: 0o600 });
    await rename(`${file}.new`, file);
  };
  const status = async (...args: Parameters<RunningGateway['send']>): Promise<number> => {
    const { statusCode, body } = await gateway.send(args[0], { key, ...args[1] });
    await body.dump();
    return statusCode;
  };
  const body = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'a' } });
  const headers = { 'content-type': 'application/json' };
  return {
    replace,
    endFirst: first.end,
    reads: () => new Load(async () => await status(`${maps}?limit=1`), 4, paceMs),
    writes: () =>
      new Load(async () => await status(`${maps}?dryRun=All`, { method: 'POST', headers, body }), 2, paceMs),
  };
}

/** Until the gateway has read its files again, and sends all that clients ask with what stands there now. */
const untilReread = async (): Promise<void> => {
  const isFrom = (method: string) => (request: string) =>
    request.startsWith(`${method} /api/v1/namespaces/default/configmaps?`);
  const sent = async () => ['GET', 'POST'].every((method) => gate.requests.some(isFrom(method)));
  await until('reads and writes come with the next token', sent, { timeoutMs: 120_000 });
};

const untilMore = async (loads: readonly Load[]): Promise<void> => {
  const before = loads.map(({ sent }) => sent);
  const more = async () => loads.every(({ sent }, index) => sent > (before[index] ?? 0) + 50);
  await until('more requests', more, { timeoutMs: 120_000 });
};

describe.concurrent('a token of the gateway that is replaced', () => {
  it('while the former one is good for some time yet, as in a Pod, fails no request', async () => {
    const { replace, endFirst, reads, writes } = await gatewayUnderLoad();
    const loads = [reads(), writes()];
    await replace(gate.access);
    await untilReread();
    await endFirst();
    await untilMore(loads);
    for (const load of loads) await load.stop();
    expect(loads.map(({ failed }) => failed)).toEqual([[], []]);
  });

  it('in the moment when the former one ends fails no read', async () => {
    const { replace, endFirst, reads } = await gatewayUnderLoad();
    const load = reads();
    await replace();
    await endFirst();
    await untilMore([load]);
    await load.stop();
    expect(load.failed).toEqual([]);
  });
});

const namesIn = (events: OwnWatch['events'], type: string) =>
  events.filter((event) => event.type === type).map(({ object }) => object.metadata.name);

async function makeKey(client: OwnClient): Promise<string> {
  const { status, body } = await client.send('POST', ownKeys, { body: { spec: {} } });
  expect(status).toBe(201);
  return body.metadata.name;
}

it.concurrent('a bookmark is where a watch goes on from', async () => {
  const holder = await ownClient(world, { user: world.name('holder') });
  const { body } = await holder.send('GET', `${ownKeys}?limit=500`);
  const query = `watch=true&resourceVersion=${body.metadata.resourceVersion}&allowWatchBookmarks=true`;
  const watch = await holder.watch(`${ownKeys}?${query}`);
  const before = await makeKey(holder);
  const isBookmark = ({ type }: OwnWatch['events'][number]) => type === 'BOOKMARK';
  // One comes each minute.
  await until('a bookmark', async () => watch.events.some(isBookmark), { timeoutMs: 120_000 });
  const position = watch.events.findLast(isBookmark)?.object.metadata.resourceVersion;
  watch.end();
  const after = await makeKey(holder);
  const resumed = await holder.watch(`${ownKeys}?watch=true&resourceVersion=${position}`);
  await resumed.until('what came later', (events) => namesIn(events, 'ADDED').includes(after));
  expect(namesIn(resumed.events, 'ADDED')).not.toContain(before);
  resumed.end();
});

/** Before that limit the gateway refuses for it cannot ask, and after it for what it knows is too old. */
const awayMs = 32_000;

interface Answer {
  readonly status: number;
  readonly retryAfter: unknown;
  readonly reason: unknown;
}

/** More than the buffers on its way hold, so that most of the answer is not sent yet. */
const objects = 30;
const objectBytes = 900_000;

const { key } = await knownHolder(away, { user: alice });
await concurrently(Array.from({ length: objects }), async () => {
  const metadata = { name: away.name('large'), namespace: 'default' };
  const data = { a: 'x'.repeat(objectBytes) };
  await away.admin.createObject(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data });
});

async function get(): Promise<Answer> {
  const { statusCode, headers, body } = await away.gateway.send(`${maps}?limit=1`, { key });
  const { reason } = (await body.json()) as { reason?: string };
  return { status: statusCode, retryAfter: headers['retry-after'], reason };
}

/** How the body of the answer ends for its reader. */
const endOf = async (body: AsyncIterable<unknown>): Promise<'complete' | 'cut'> => {
  try {
    for await (const _ of body);
    return 'complete';
  } catch {
    return 'cut';
  }
};

/** A create whose body stays unfinished. */
async function halfUpload(): Promise<number | 'cut'> {
  const body = new PassThrough();
  body.write('{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"half"},');
  try {
    const answer = await away.gateway.send(maps, {
      method: 'POST',
      key,
      headers: { 'content-type': 'application/json' },
      body,
    });
    await answer.body.dump();
    return answer.statusCode;
  } catch {
    return 'cut';
  } finally {
    body.destroy();
  }
}

it.concurrent('while its API server is away for longer than it trusts what it knows, the gateway says 503 and nothing else, and goes on afterwards', async () => {
  const watch = await away.gateway.send(`${maps}?watch=true`, { key });
  const watched = endOf(watch.body);
  const uploaded = halfUpload();
  const unread = await away.gateway.send(maps, { key });
  await lonely.stopApiServer();
  // A watch that ended in order would look as if nothing had been missed.
  expect(await watched).toBe('cut');
  expect(await endOf(unread.body)).toBe('cut');
  expect([503, 'cut']).toContain(await uploaded);

  const end = performance.now() + awayMs;
  const answers: Answer[] = [];
  await until(
    'the time is over',
    async () => {
      answers.push(await get());
      return performance.now() > end;
    },
    { timeoutMs: 2 * awayMs, everyMs: 250 },
  );
  expect(answers.length).toBeGreaterThan(10);
  for (const answer of answers)
    expect(answer).toEqual({ status: 503, retryAfter: expect.any(String), reason: 'ServiceUnavailable' });
  expect(await away.gateway.health('/readyz')).toMatchObject({ status: 503 });
  expect(await away.gateway.health('/livez')).toMatchObject({ status: 200 });

  await lonely.startApiServer();
  // With pauses of up to 30 seconds it took 40 more.
  const soon = { timeoutMs: 25_000 };
  await until('it serves again', async () => (await get()).status === 200, soon);
  await until('it is ready again', async () => (await away.gateway.health('/readyz')).status === 200, soon);
  const again = await away.gateway.send(`${maps}?watch=true&timeoutSeconds=1`, { key });
  expect(await endOf(again.body)).toBe('complete');
  expect(await away.gateway.log()).not.toContain(key);
});
