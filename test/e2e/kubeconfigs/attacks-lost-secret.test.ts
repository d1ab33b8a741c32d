import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { secretAt } from '../../../lab/operator/api.ts';
import { until } from '../../../lab/operator/until.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { targetSettings } from '../targets/target-world.ts';
import { PlayedCluster } from './played-cluster.ts';

const world = await operatorWorld({ env: targetSettings });
const { admin } = world;
let cluster: PlayedCluster;

beforeAll(async () => {
  cluster = await PlayedCluster.start();
});

afterAll(async () => await cluster.server.stop());

async function issued() {
  const project = await cluster.project(world);
  const object = await project.issued();
  expect(cluster.bindingsOf(object)).toHaveLength(1);
  const secret = secretAt(project.namespace, `vc-${project.instance.metadata.name}`);
  return { project, object, secret };
}

describe.concurrent('a certificate loses its binding inside', () => {
  it('although somebody deleted the Secret before its object', async () => {
    const { object, secret } = await issued();
    await admin.delete(secret);
    await admin.delete(object);
    await admin.untilGone(object);
    expect(cluster.bindingsOf(object)).toEqual([]);
  });

  it('although Secret and instance went before its object', async () => {
    const { project, object, secret } = await issued();
    await admin.delete(secret);
    await admin.delete(project.instance);
    await admin.untilGone(project.instance);
    await admin.delete(object);
    await admin.untilGone(object);
    expect(cluster.bindingsOf(object)).toEqual([]);
  });

  it('although its namespace was deleted with everything in it', async () => {
    const { project, object } = await issued();
    await world.plane.kubectl(['delete', 'namespace', project.namespace, '--wait=true']);
    await admin.untilGone(object);
    expect(cluster.bindingsOf(object)).toEqual([]);
  }, 60_000);

  it('although somebody wrote another cluster, or nonsense, into the Secret', async () => {
    const decoy = await PlayedCluster.start();
    for (const text of [decoy.kubeConfig, 'nonsense']) {
      const { object, secret } = await issued();
      await admin.patch(secret, { data: { config: Buffer.from(text).toString('base64') } });
      await admin.delete(object);
      await admin.untilGone(object);
      await until('nothing is bound', async () => cluster.bindingsOf(object).length === 0);
    }
    await decoy.server.stop();
  }, 60_000);
});
