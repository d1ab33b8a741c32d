import { afterAll, expect, it } from 'vitest';
import { RunningGateway } from '../../../lab/gateway/running-gateway.ts';
import { giveRight } from '../../../lab/operator/rights.ts';
import { until } from '../../../lab/operator/until.ts';
import { gatewayWorld } from './gateway-world.ts';

const world = await gatewayWorld();
const alice = world.name('alice');
await giveRight(world.admin, alice, { apiGroups: [''], resources: ['configmaps'], verbs: ['*'] });
const maps = '/kubernetes/management/api/v1/namespaces/default/configmaps';

it('a gateway that is told to stop is not ready, serves on for a while, cuts what is left and ends with 0', async () => {
  const env = { LATCHKEY_SHUTDOWN_DELAY: '4s', LATCHKEY_SHUTDOWN_GRACE: '1s' };
  const name = world.name('stopping');
  const gateway = await RunningGateway.start(world.plane, world.guard, { name, env });
  afterAll(async () => void (await gateway.end()));
  const { key } = await world.holder({ user: alice });
  const get = async () => {
    const { statusCode, headers, body } = await gateway.send(maps, { key });
    await body.dump();
    return { statusCode, connection: headers['connection'] };
  };
  await until('the key is known', async () => (await get()).statusCode === 200);
  const watch = await gateway.send(`${maps}?watch=true`, { key });
  const ended = (async () => {
    for await (const _ of watch.body);
  })().catch(() => 'cut' as const);

  process.kill(gateway.process.pid, 'SIGTERM');
  await until('it is not ready', async () => (await gateway.health('/readyz')).status === 503);
  expect(await get()).toEqual({ statusCode: 200, connection: 'close' });
  expect(await ended).toBe('cut');
  expect(await gateway.process.exited).toBe(0);
});
