import { describe, expect, it } from 'vitest';
import { RunningGateway } from '../../../lab/gateway/running-gateway.ts';
import type { Stored } from '../../../lab/operator/api.ts';
import { until } from '../../../lab/operator/until.ts';
import { sharedVirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { virtualClusterInstanceKubeConfigs } from '../../../src/api/resources.ts';
import { gatewayWorld } from '../../e2e/gateway/gateway-world.ts';
import { knownHolder, untilKnown } from '../../e2e/gateway/known-holder.ts';
import { Project } from '../../e2e/kubeconfigs/kubeconfig-world.ts';
import { targetSettings } from '../../e2e/targets/target-world.ts';

const env = { LATCHKEY_TARGET_ADDRESSES: '127.0.0.0/8' };
const world = await gatewayWorld(env);
const { admin, gateway } = world;
const project = await Project.ready(world, await sharedVirtualCluster());
const { key } = await knownHolder(world, { user: 'alice' });
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

/** Those that are not on their way out: without an operator no finalizer goes. */
async function objects(): Promise<readonly Stored[]> {
  const { items } = await admin.client.list<Stored>(virtualClusterInstanceKubeConfigs, { namespace });
  return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}

describe('a POST of a kubeconfig while no operator works', () => {
  it('gets 503 with Retry-After after half a minute, and leaves nothing; the next operator serves the next one', async () => {
    await world.killOperator();
    const began = performance.now();
    const { status, headers, text } = await post();
    expect([status, headers['retry-after']]).toEqual([503, '5']);
    expect(text).toContain('ERR_KUBECONFIG_PENDING');
    expect(performance.now() - began).toBeGreaterThan(29_000);
    expect(await objects()).toEqual([]);
    await world.startOperator({ env: targetSettings });
    expect((await post()).status).toBe(200);
  });

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
    await world.startOperator({ env: targetSettings });
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
    await world.startOperator({ env: targetSettings });
  });
});
