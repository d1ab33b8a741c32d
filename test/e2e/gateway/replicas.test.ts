import { afterAll, expect, it } from 'vitest';
import { RunningGateway } from '../../../lab/gateway/running-gateway.ts';
import { giveRight } from '../../../lab/operator/rights.ts';
import { timeUntil } from '../../../lab/operator/until.ts';
import { gatewayWorld } from './gateway-world.ts';
import { untilKnown } from './known-holder.ts';

const world = await gatewayWorld();
const { admin } = world;
const other = await RunningGateway.start(world.plane, world.guard, { name: world.name('replica') });
afterAll(async () => void (await other.end()));
const replicas = [world.gateway, other];
const alice = world.name('alice');
await giveRight(admin, alice, { apiGroups: [''], resources: ['configmaps'], verbs: ['*'] });
const maps = '/kubernetes/management/api/v1/namespaces/default/configmaps';
/** Of several rounds. A change takes some tens of milliseconds; a machine that stands still may spoil a round, but not most of them. */
const maxMedianMs = 250;
const rounds = 7;
/** A replica that has to wait for its next watch is far above it. */
const maxMs = 2_000;

function expectTogether(what: string, times: readonly number[]): void {
  const sorted = times.toSorted((one, other) => one - other);
  console.info(`${what} at two replicas: ${sorted.map((ms) => ms.toFixed(0)).join(', ')} ms`);
  expect(sorted[Math.floor(sorted.length / 2)]).toBeLessThanOrEqual(maxMedianMs);
  expect(sorted.at(-1)).toBeLessThan(maxMs);
}

const statusOf = async (gateway: RunningGateway, key: string): Promise<number> => {
  const { statusCode, body } = await gateway.send(maps, { key });
  await body.dump();
  return statusCode;
};

/** How long after now each replica gives this answer. */
const timesUntil = async (key: string, status: number): Promise<readonly number[]> =>
  await Promise.all(
    replicas.map(async (gateway) => {
      const holds = async () => (await statusOf(gateway, key)) === status;
      return await timeUntil(`the answer ${status}`, holds, { everyMs: 5 });
    }),
  );

async function openWatch(gateway: RunningGateway, key: string) {
  const { statusCode, body } = await gateway.send(`${maps}?watch=true`, { key });
  expect(statusCode).toBe(200);
  let isOpen = true;
  body
    .on('error', () => undefined)
    .on('close', () => {
      isOpen = false;
    });
  body.resume();
  return { isOpen: () => isOpen };
}

it('two replicas refuse a key as soon as it is disabled, cut its watches, and accept it again together', async () => {
  const { key, object } = await world.holder({ user: alice });
  const [off, on]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    await Promise.all(replicas.map(async (gateway) => await untilKnown(gateway, key)));
    const watches = await Promise.all(replicas.map(async (gateway) => await openWatch(gateway, key)));
    const allCut = async () => watches.every(({ isOpen }) => !isOpen());

    await admin.patch(object, { spec: { disabled: true } });
    const [refused, closed] = await Promise.all([
      timesUntil(key, 401),
      timeUntil('both watches are cut', allCut, { everyMs: 5 }),
    ]);
    off.push(Math.max(...refused, closed));

    await admin.untilReady(await admin.patch(object, { spec: { disabled: false } }));
    on.push(Math.max(...(await timesUntil(key, 200))));
  }
  expectTogether('refused', off);
  expectTogether('accepted again', on);
});

it('a key that was used at one replica alone is known at the other, last use included', async () => {
  const { key, object } = await world.holder({ user: alice, ttl: 3_600, ttlAfterLastActivity: true });
  await untilKnown(world.gateway, key);
  expect(await statusOf(world.gateway, key)).toBe(200);
  await admin.until(object, 'used', ({ status }) => 'lastActivity' in status);
  await untilKnown(other, key);
  expect(await statusOf(other, key)).toBe(200);
});
