import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { conditionOf } from '../../../lab/operator/api.ts';
import { uniqueName } from '../../../lab/operator/manifest.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { clusters, spaceInstances } from '../../../src/api/resources.ts';
import { type Access, accessOf, callAs, makeCluster } from './target-world.ts';

const world = await operatorWorld();
const { admin } = world;

describe('the platform itself as a connected cluster', () => {
  const names = ['latchkey-system/secrets/latchkey-signing-keys', 'latchkey-targets/secrets'];
  let access: Access;

  beforeAll(async () => {
    const kubeConfig = await readFile(world.plane.adminKubeconfig, 'utf8');
    const { cluster } = await makeCluster(world, kubeConfig);
    await admin.untilReady(cluster);
    access = await accessOf(world, cluster);
    return async () => {
      await admin.delete(cluster);
      await admin.untilGone(cluster);
    };
  });

  it.each([
    ['by itself', {}],
    ['as a user', { 'impersonate-user': 'alice' }],
    ['as an administrator', { 'impersonate-user': 'alice', 'impersonate-group': 'system:masters' }],
    ['as the operator', { 'impersonate-user': 'system:serviceaccount:latchkey-system:latchkey-operator' }],
    ['as a node', { 'impersonate-user': 'system:node:worker-1' }],
  ])('shows a stolen token neither signing keys nor the access to targets, %s', async (_as, headers) => {
    const answers = names.map(
      async (name) => await callAs(access, 'GET', `/api/v1/namespaces/${name}`, headers),
    );
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([403, 403]);
  });
});

describe('a cluster that is not dialled', () => {
  it('is ready with a direct endpoint', async () => {
    const directEndpoint = { host: 'staging.example.com' };
    const cluster = await admin.create(clusters, { directEndpoint }, { name: uniqueName('direct') });
    expect(conditionOf(await admin.untilReady(cluster))?.message).toContain('direct endpoint');
    await admin.delete(cluster);
    await admin.untilGone(cluster);
  });

  it('is not without one, until it is set', async () => {
    const cluster = await admin.create(clusters, {}, { name: uniqueName('nowhere') });
    const refused = await admin.untilRefused(cluster, 'KubeConfigNotFound');
    expect(conditionOf(refused, 'Stalled')?.message).toContain('spec.directEndpoint.host');
    await admin.patch(cluster, { spec: { directEndpoint: { host: 'staging.example.com' } } });
    await admin.untilReady(cluster);
  });
});

describe('a space without a reference', () => {
  it('has failed for good', async () => {
    const space = await admin.create(spaceInstances, {}, { name: uniqueName('space') });
    const refused = await admin.untilRefused(space, 'ClusterNotFound');
    expect(refused.status.phase).toBe('Failed');
    expect(conditionOf(refused, 'Stalled')?.message).toContain('spec.clusterRef');
  });
});
