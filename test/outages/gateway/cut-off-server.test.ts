import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { RunningGateway } from '../../../lab/gateway/running-gateway.ts';
import { startInstalled } from '../../../lab/operator/installed-plane.ts';
import { giveRight } from '../../../lab/operator/rights.ts';
import { accountKubeconfig } from '../../../lab/operator/running-operator.ts';
import { until } from '../../../lab/operator/until.ts';
import { WriteGate } from '../../../lab/operator/write-gate.ts';
import { gatewayWorld } from '../../e2e/gateway/gateway-world.ts';
import { serveUntilRefused } from '../../e2e/gateway/load.ts';

const plane = await startInstalled({ name: 'gateway-cut-off' });
afterAll(async () => await plane.stop());
const twin = await plane.startTwin();
const world = await gatewayWorld({}, {}, plane);
const { admin } = world;
const alice = world.name('alice');
await giveRight(admin, alice, { apiGroups: [''], resources: ['configmaps'], verbs: ['*'] });
const maps = '/kubernetes/management/api/v1/namespaces/default/configmaps';

const gateways: RunningGateway[] = [];
afterAll(async () => {
  for (const gateway of gateways) await gateway.end();
});

/** A gateway with the shortest limit, and a holder with a watch open. */
async function openGateway(name: string, kubeconfig: string) {
  const gateway = await RunningGateway.start(plane, world.guard, {
    name,
    env: { LATCHKEY_STALE_AFTER: '25s' },
    kubeconfig,
  });
  gateways.push(gateway);
  const { key, object } = await world.holder({ user: alice });
  const status = async (path: string): Promise<number> => {
    const { statusCode, body } = await gateway.send(path, { key });
    await body.dump();
    return statusCode;
  };
  await until('the key is known', async () => (await status(maps)) === 200);
  const watch = await gateway.send(`${maps}?watch=true`, { key });
  const ended = (async () => {
    for await (const _ of watch.body);
  })().catch(() => 'cut' as const);
  const comesBack = async () => {
    const isReady = async () => (await gateway.health('/readyz')).status === 200;
    await until('it is ready again', isReady, { timeoutMs: 90_000 });
    expect(await status(maps)).toBe(401);
  };
  return { gateway, object, status, ended, comesBack };
}

/** Between a gateway and the API server. */
const gate = await WriteGate.start(plane);
afterAll(async () => await gate.close());

/** A question how far things are, about one kind. */
const isProof = (request: string) => /\/ownedaccesskeys\?limit=1$/.test(request);

/** A path that needs no etcd shows what the gateway itself thinks. */
const version = '/kubernetes/management/version';

/** Credentials of the gateway for the twin in place of the server that the operator uses. */
async function kubeconfigOfTwin(): Promise<string> {
  const own = await readFile(await accountKubeconfig(plane, 'latchkey-gateway'), 'utf8');
  const { server } = parse(await readFile(twin.adminKubeconfig, 'utf8')).clusters[0].cluster;
  const file = path.join(world.guard.folder, 'gateway-of-twin.yaml');
  await writeFile(file, own.replace(/server: .*/, `server: ${server}`), { mode: 0o600 });
  return file;
}

// They wait at the same time: one hangs on the second API server, the other one on a gate.
it.concurrent('a gateway whose API server is cut off lets no one in for longer than it says, under load too, and comes back', async () => {
  const stage = await openGateway('cut-off', await kubeconfigOfTwin());
  const { gateway, object, status, ended, comesBack } = stage;
  let frozen = Number.POSITIVE_INFINITY;
  const cutOff = async () => {
    twin.freeze();
    frozen = performance.now();
    await admin.patch(object, { spec: { disabled: true } });
  };
  const send = async () => await status(version);
  const { count, late } = await serveUntilRefused(send, cutOff, [503]);
  expect(performance.now() - frozen).toBeLessThan(50_000);
  expect([count > 0, late]).toEqual([true, 0]);
  expect(await ended).toBe('cut');
  expect(await gateway.health('/readyz')).toMatchObject({ status: 503 });

  twin.thaw();
  await comesBack();
});

it.concurrent('a gateway whose watches bring nothing, while every list passes, lets no one in for longer either', async () => {
  const kubeconfig = await accountKubeconfig(gate.access, 'latchkey-gateway');
  const { gateway, object, status, ended, comesBack } = await openGateway('silent', kubeconfig);

  gate.freezeWatches();
  await admin.patch(object, { spec: { disabled: true } });
  const frozen = performance.now();
  const before = gate.requests.length;
  const send = async () => await status(version);
  const { count, late } = await serveUntilRefused(send, async () => undefined, [503]);
  expect(performance.now() - frozen).toBeLessThan(50_000);
  expect([count > 0, late]).toEqual([true, 0]);
  expect(await ended).toBe('cut');
  expect(await gateway.health('/readyz')).toMatchObject({ status: 503 });
  // It goes on like this for as long as they are silent, and asks for little.
  await until('it has asked five times how far things are', async () => {
    expect(await status(version)).toBe(503);
    return gate.requests.slice(before).filter(isProof).length >= 5;
  });
  const asked = gate.requests.slice(before);
  expect(asked.filter((request) => request.includes('sendInitialEvents'))).toEqual([]);
  // One in vain, for the key has changed since, and what its use had begun before.
  expect(asked.filter((request) => request.includes('/status')).length).toBeLessThanOrEqual(2);

  gate.thawWatches();
  await comesBack();
});
