import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { giveRight } from '../../../lab/operator/rights.ts';
import { until } from '../../../lab/operator/until.ts';
import { configMaps } from '../../../src/api/resources.ts';
import { generateAccessKey } from '../../../src/credentials/keys/access-key.ts';
import { gatewayWorld } from './gateway-world.ts';

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

it.concurrent.each<[string, object, (holder: Holder) => Promise<unknown>]>([
  ['is disabled', {}, async ({ object }) => await admin.patch(object, { spec: { disabled: true } })],
  ['is deleted', {}, async ({ object }) => await admin.delete(object)],
  ['gets an end that is over', {}, async ({ object }) => await admin.patch(object, { spec: { ttl: 1 } })],
  ['gets another scope', {}, async ({ object }) => await admin.patch(object, { spec: { scope: {} } })],
  [
    'gets another key',
    {},
    async ({ object }) => await admin.patch(object, { spec: { key: generateAccessKey(randomBytes(32)) } }),
  ],
  ['ends by the clock', { ttl: 10 }, async () => undefined],
])('when a key %s, its watch is cut and it opens nothing more', async (_, spec, change) => {
  const holder = await world.holder({ user: alice, ...spec });
  const { ended } = await watchWith(holder.key);
  await change(holder);
  expect(await ended).toBe('cut');
  await until('the key is refused', async () => [401, 403].includes(await statusWith(holder.key)));
});

it('when the key above it is disabled, the watch of a key is cut', async () => {
  const parent = await world.holder({ user: alice });
  const child = await world.holder({ accessKey: parent.object.metadata.name });
  const { ended } = await watchWith(child.key);
  await admin.patch(parent.object, { spec: { disabled: true } });
  expect(await ended).toBe('cut');
  expect(await statusWith(child.key)).toBe(401);
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
