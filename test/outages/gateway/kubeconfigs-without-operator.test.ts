import { beforeAll, describe, expect, it } from 'vitest';
import { RunningGateway } from '../../../lab/gateway/running-gateway.ts';
import type { Stored } from '../../../lab/operator/api.ts';
import { until } from '../../../lab/operator/until.ts';
import { sharedVirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { virtualClusterInstanceKubeConfigs } from '../../../src/api/resources.ts';
import { gatewayWorld } from '../../e2e/gateway/gateway-world.ts';
import { untilKnown } from '../../e2e/gateway/known-holder.ts';
import { credential, type OwnAnswer, ownClient, ownKeys, ownTokens } from '../../e2e/gateway/own-client.ts';
import { Project } from '../../e2e/kubeconfigs/kubeconfig-world.ts';

const env = { LATCHKEY_TARGET_ADDRESSES: '127.0.0.0/8' };
const world = await gatewayWorld(env);
const { admin, gateway } = world;
const project = await Project.ready(world, await sharedVirtualCluster());
const holder = await ownClient(world, { user: 'alice' });
const { key } = holder;
const { namespace, instance } = project;
const path = `/kubernetes/management/apis/management.platform.sh/v1/namespaces/${namespace}/virtualclusterinstances/${instance.metadata.name}/kubeconfig`;

const post = async (at = gateway) => {
  const { statusCode, headers, body } = await at.send(path, {
    method: 'POST',
    key,
    headers: { 'content-type': 'application/json' },
    body: '{}',
  });
  return { status: statusCode, headers, text: await body.text() };
};

/** Lists objects that are not on their way out: without an operator no finalizer goes. */
async function objects(): Promise<readonly Stored[]> {
  const { items } = await admin.client.list<Stored>(virtualClusterInstanceKubeConfigs, { namespace });
  return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}

describe('a POST while no operator works', () => {
  let refused: Awaited<ReturnType<typeof post>>;
  let tookMs = 0;
  let made: readonly OwnAnswer[] = [];

  // A client waits for half a minute, so all of them wait at once.
  beforeAll(async () => {
    await world.killOperator();
    const began = performance.now();
    const refusal = post().finally(() => {
      tookMs = performance.now() - began;
    });
    const make = async (place: string) => await holder.send('POST', place, { body: { spec: { ttl: 600 } } });
    made = await Promise.all([ownKeys, ownTokens].map(make));
    refused = await refusal;
  });

  it('of a kubeconfig gets 503 with Retry-After after half a minute, and leaves nothing', async () => {
    const { status, headers, text } = refused;
    expect([status, headers['retry-after']]).toEqual([503, '5']);
    expect(text).toContain('ERR_KUBECONFIG_PENDING');
    expect(tookMs).toBeGreaterThan(29_000);
    expect(await objects()).toEqual([]);
  });

  it('of a key or token makes it, with a warning that it does not work yet', () => {
    const notYet = 'the credential does not work yet: the operator has not confirmed it yet';
    for (const { status, headers } of made)
      expect([status, String(headers['warning'])]).toEqual([201, expect.stringContaining(notYet)]);
    // A token is there once the operator has signed it.
    expect(made.map(({ text }) => credential.test(text))).toEqual([true, false]);
  });

  it('has made what works with the next operator, which serves the next POST', async () => {
    await world.startOperator();
    expect((await post()).status).toBe(200);
    for (const { body } of made) await admin.untilReady(body);
    await untilKnown(gateway, made[0]?.body.spec.key);
  });
});

describe('a POST of a kubeconfig while no operator works', () => {
  it('goes with a replica that is told to stop', async () => {
    const before = (await objects()).length;
    await world.killOperator();
    const name = world.name('replica');
    const replica = await RunningGateway.start(world.plane, world.guard, {
      name,
      env: { ...env, LATCHKEY_SHUTDOWN_GRACE: '1s' },
    });
    await untilKnown(replica, key);
    const cut = post(replica).catch(() => 'cut');
    await until('the object is there', async () => (await objects()).length === before + 1);
    await replica.end();
    expect(await cut).toBe('cut');
    expect(await objects()).toHaveLength(before);
    await world.startOperator();
  });

  it('leaves an object that is marked to go when a replica dies', async () => {
    const before = (await objects()).map(({ metadata }) => metadata.uid);
    await world.killOperator();
    const replica = await RunningGateway.start(world.plane, world.guard, {
      name: world.name('replica'),
      env,
    });
    await untilKnown(replica, key);
    const cut = post(replica).catch(() => 'cut');
    const left = await until('the object is there', async () =>
      (await objects()).find(({ metadata }) => !before.includes(metadata.uid)),
    );
    await replica.end('SIGKILL');
    expect(await cut).toBe('cut');
    expect(left.metadata).toMatchObject({
      labels: { 'management.platform.sh/ephemeral': 'true' },
      ownerReferences: [{ uid: instance.metadata.uid }],
    });
    await world.startOperator();
  });
});
