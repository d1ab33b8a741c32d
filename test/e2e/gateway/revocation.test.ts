import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { giveRight } from '../../../lab/operator/rights.ts';
import { until } from '../../../lab/operator/until.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { configMaps } from '../../../src/api/resources.ts';
import { generateAccessKey } from '../../../src/credentials/keys/access-key.ts';
import { gatewayWorld } from './gateway-world.ts';
import { serveUntilRefused } from './load.ts';
import { ownClient, ownKeys } from './own-client.ts';

const world = await gatewayWorld();
const { gateway, admin } = world;
const alice = world.name('alice');
await giveRight(admin, alice, { apiGroups: [''], resources: ['configmaps'], verbs: ['*'] });
const path = '/kubernetes/management/api/v1/namespaces/default/configmaps';

/** A watch with the key, open and alive; `ended` tells when the gateway has cut it. */
async function watchWith(key: string) {
  const answer = await until('the gateway lets the key watch', async () => {
    const { statusCode, body } = await gateway.send(`${path}?watch=true`, { key });
    if (statusCode === 200) return body;
    await body.dump();
    return undefined;
  });
  let received = '';
  const ended = (async () => {
    for await (const chunk of answer) received += chunk;
  })().catch(() => 'cut' as const);
  return { ended, received: () => received };
}

const statusWith = async (key: string): Promise<number> => {
  const { statusCode, body } = await gateway.send(path, { key });
  await body.dump();
  return statusCode;
};

type Holder = Awaited<ReturnType<typeof world.holder>>;

/** Until the credential is taken away its holder has watches open, and sends requests all the time. */
async function underLoad(key: string, change: () => Promise<unknown>, refusals: readonly number[] = [401]) {
  const watches = [await watchWith(key), await watchWith(key)];
  const { count, late } = await serveUntilRefused(async () => await statusWith(key), change, refusals);
  expect(await Promise.all(watches.map(({ ended }) => ended))).toEqual(['cut', 'cut']);
  expect(count).toBeGreaterThan(0);
  expect(late).toBe(0);
  // A scope that is not confirmed yet opens nothing at all.
  await until('the last answer', async () => (await statusWith(key)) === refusals.at(-1));
}

const hold = 'example.com/hold';

it.concurrent.each<[string, object, (holder: Holder) => Promise<unknown>, refusals?: readonly number[]]>([
  ['is disabled', {}, async ({ object }) => await admin.patch(object, { spec: { disabled: true } })],
  ['is deleted', {}, async ({ object }) => await admin.delete(object)],
  ['gets an end that is over', {}, async ({ object }) => await admin.patch(object, { spec: { ttl: 1 } })],
  [
    'gets another scope',
    {},
    async ({ object }) => await admin.patch(object, { spec: { scope: {} } }),
    [401, 403],
  ],
  [
    'gets another key',
    {},
    async ({ object }) => await admin.patch(object, { spec: { key: generateAccessKey(randomBytes(32)) } }),
  ],
  ['ends by the clock', { ttl: 10 }, async () => undefined],
])(
  'when a key %s, its watches are cut and it opens nothing more, also under load',
  async (_, spec, change, refusals) => {
    const holder = await world.holder({ user: alice, ...spec });
    await underLoad(holder.key, async () => await change(holder), refusals);
  },
);

it.concurrent('a key that is disabled does not enable itself, however often it tries', async () => {
  const holder = await ownClient(world, { user: alice });
  const { name } = holder.object.metadata;
  let count = 0;
  const enable = async () => {
    count += 1;
    const body = { spec: { disabled: false, displayName: `try ${count}` } };
    const type = 'application/merge-patch+json';
    return (await holder.send('PATCH', `${ownKeys}/${name}`, { type, body })).status;
  };
  const untilRefused = async () => {
    for (let tries = 0; tries < 1_000; tries += 1) {
      // A request under way is cut.
      if ((await enable().catch(() => 'cut')) === 401) return;
    }
  };
  const thieves = Array.from({ length: 8 }, untilRefused);
  await until('they write', async () => count > 40);
  await admin.patch(holder.object, { spec: { disabled: true } });
  await Promise.all(thieves);
  expect((await admin.get(holder.object)).spec['disabled']).toBe(true);
});

it.concurrent('when a key is to be deleted, its watches are cut, however long a finalizer keeps its object', async () => {
  const { object, key } = await world.holder({ user: alice });
  await admin.patch(object, { metadata: { finalizers: [...(object.metadata.finalizers ?? []), hold] } });
  await underLoad(key, async () => await admin.delete(object));
  const kept = await admin.until(object, 'kept', ({ metadata }) => metadata.finalizers?.join() === hold);
  expect(kept.metadata.deletionTimestamp).toBeDefined();
  expect(await statusWith(key)).toBe(401);
  await admin.patch(object, { metadata: { finalizers: null } });
  await admin.untilGone(object);
});

it.concurrent.each<[string, (parent: Holder) => Promise<unknown>]>([
  ['is disabled', async ({ object }) => await admin.patch(object, { spec: { disabled: true } })],
  ['is deleted', async ({ object }) => await admin.delete(object)],
])('when the key above it %s, the watches of a key are cut, also under load', async (_, change) => {
  const parent = await world.holder({ user: alice });
  const child = await world.holder({ accessKey: parent.object.metadata.name });
  await underLoad(child.key, async () => await change(parent));
});

it.concurrent('a key that has ended is called expired, also once the operator has disabled it, and so is a token below it', async () => {
  const { object, key } = await world.holder({ user: alice, ttl: 8 });
  const below = await admin.untilReady(await admin.createToken({ accessKey: object.metadata.name }));
  const marked = await admin.untilRefused(object, reasons.expired);
  expect(marked.spec.disabled).toBe(true);
  for (const [bearer, expected] of [
    [key, 'the access key has expired'],
    [String(below.status.token), 'the token has expired'],
  ] as const) {
    await until(`the answer: ${expected}`, async () => {
      const { statusCode, body } = await gateway.send(path, { key: bearer });
      const { message } = (await body.json()) as { message: string };
      return statusCode === 401 && message.includes(expected);
    });
  }
});

it('a change that narrows nothing leaves the watch open', async () => {
  const { key, object } = await world.holder({ user: alice });
  const { ended, received } = await watchWith(key);
  const changed = await admin.patch(object, { spec: { displayName: 'another' } });
  await admin.untilReady(changed);
  const other = await world.holder({ user: alice });
  await until('the gateway has seen later changes', async () => (await statusWith(other.key)) === 200);
  const metadata = { name: world.name('map'), namespace: 'default' };
  await admin.createObject(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata });
  await until('the watch goes on', async () => received().includes(metadata.name));
  expect(await Promise.race([ended, Promise.resolve('open')])).toBe('open');
  await admin.delete(object);
  expect(await ended).toBe('cut');
});
