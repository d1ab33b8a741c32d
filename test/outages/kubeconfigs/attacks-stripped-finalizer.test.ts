import { afterAll, beforeAll, describe, it } from 'vitest';
import type { Stored, Target } from '../../../lab/operator/api.ts';
import { until } from '../../../lab/operator/until.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { PlayedCluster } from '../../e2e/kubeconfigs/played-cluster.ts';

const world = await operatorWorld();
const { admin } = world;
let cluster: PlayedCluster;

beforeAll(async () => {
  cluster = await PlayedCluster.start();
});

afterAll(async () => await cluster.server.stop());

/** Does what everybody can who may delete and update the object. A policy may refuse the second part. */
async function deleteAndStrip(object: Target): Promise<void> {
  await admin.delete(object);
  await admin.patch(object, { metadata: { finalizers: null } }).catch(() => undefined);
}

/** A try to revoke may take half a minute, and one virtual cluster is revoked in by one at a time. */
async function untilUnbound(object: Stored): Promise<void> {
  await until('nothing is bound', async () => cluster.bindingsOf(object).length === 0, { timeoutMs: 90_000 });
}

describe('nothing stays bound', () => {
  it('of kubeconfigs that are deleted and whose finalizers are taken off at once', async () => {
    const project = await cluster.project(world);
    const objects = await Promise.all(Array.from({ length: 10 }, async () => await project.issued()));
    for (const object of objects) await deleteAndStrip(object);
    for (const object of objects) await untilUnbound(object);
  });

  it('of a kubeconfig, and of an instance, to which that is done while no operator is there', async () => {
    const object = await (await cluster.project(world)).issued();
    const other = await cluster.project(world);
    const below = await other.issued();
    await world.killOperator();
    await deleteAndStrip(object);
    await deleteAndStrip(other.instance);
    await world.startOperator();
    await untilUnbound(object);
    await untilUnbound(below);
    await admin.untilGone(object);
  });
});
