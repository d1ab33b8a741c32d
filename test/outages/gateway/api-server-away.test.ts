import { PassThrough } from 'node:stream';
import { afterAll, expect, it } from 'vitest';
import { startControlPlane } from '../../../lab/controlplane/control-plane.ts';
import { concurrently } from '../../../lab/operator/concurrently.ts';
import { giveRight } from '../../../lab/operator/rights.ts';
import { until } from '../../../lab/operator/until.ts';
import { configMaps } from '../../../src/api/resources.ts';
import { gatewayWorld } from '../../e2e/gateway/gateway-world.ts';
import { knownHolder } from '../../e2e/gateway/known-holder.ts';

const plane = await startControlPlane({ name: 'gateway-away' });
afterAll(async () => await plane.stop());
const world = await gatewayWorld({}, {}, plane);
const { gateway } = world;
const alice = world.name('alice');
await giveRight(world.admin, alice, { apiGroups: [''], resources: ['configmaps'], verbs: ['*'] });
const maps = '/kubernetes/management/api/v1/namespaces/default/configmaps';
const awayMs = 60_000;

interface Answer {
  readonly status: number;
  readonly retryAfter: unknown;
  readonly reason: unknown;
}

/** More than the buffers on its way hold, so that most of the answer is not sent yet. */
const objects = 12;
const objectBytes = 900_000;

const { key } = await knownHolder(world, { user: alice });
await concurrently(Array.from({ length: objects }), async () => {
  const metadata = { name: world.name('large'), namespace: 'default' };
  const data = { a: 'x'.repeat(objectBytes) };
  await world.admin.createObject(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data });
});

async function get(): Promise<Answer> {
  const { statusCode, headers, body } = await gateway.send(`${maps}?limit=1`, { key });
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
    const answer = await gateway.send(maps, {
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

it('while its API server is away for a minute, the gateway says 503 and nothing else, and goes on afterwards', async () => {
  const watch = await gateway.send(`${maps}?watch=true`, { key });
  const watched = endOf(watch.body);
  const uploaded = halfUpload();
  const unread = await gateway.send(maps, { key });
  await plane.stopApiServer();
  // A watch that ended in order would look as if nothing had been missed.
  expect(await watched).toBe('cut');
  expect(await endOf(unread.body)).toBe('cut');
  expect([503, 'cut']).toContain(await uploaded);

  const end = performance.now() + awayMs;
  const answers: Answer[] = [];
  await until(
    'the minute is over',
    async () => {
      answers.push(await get());
      return performance.now() > end;
    },
    { timeoutMs: 2 * awayMs, everyMs: 250 },
  );
  expect(answers.length).toBeGreaterThan(10);
  for (const answer of answers)
    expect(answer).toEqual({ status: 503, retryAfter: expect.any(String), reason: 'ServiceUnavailable' });
  expect(await gateway.health('/readyz')).toMatchObject({ status: 503 });
  expect(await gateway.health('/livez')).toMatchObject({ status: 200 });

  await plane.startApiServer();
  await until('it serves again', async () => (await get()).status === 200, { timeoutMs: 120_000 });
  await until('it is ready again', async () => (await gateway.health('/readyz')).status === 200, {
    timeoutMs: 120_000,
  });
  const again = await gateway.send(`${maps}?watch=true&timeoutSeconds=1`, { key });
  expect(await endOf(again.body)).toBe('complete');
  expect(await gateway.log()).not.toContain(key);
});
