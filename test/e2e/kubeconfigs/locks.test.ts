import { expect, it } from 'vitest';
import { sharedVirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { credentialLocks } from '../../../src/api/resources.ts';
import { Holder, Project } from './kubeconfig-world.ts';

const world = await operatorWorld();
const cluster = await sharedVirtualCluster();
const { admin } = world;

it('a lock takes a certificate out of the virtual cluster, and without it another one takes its place, with the same end', async () => {
  const project = await Project.ready(world, cluster);
  const object = await project.issued();
  const holder = new Holder(object.status.kubeConfig, cluster);
  await holder.untilAllowed();
  const lock = await admin.create(credentialLocks, { user: 'platform-admin' });
  const stopped = await admin.untilRefused(object, reasons.locked);
  expect(stopped.status.boundSerials ?? []).toEqual([]);
  expect(stopped.status).not.toHaveProperty('kubeConfig');
  expect(await holder.refusals()).toEqual(new Set([403]));
  await admin.delete(lock);
  const back = await admin.untilReady(object);
  const another = new Holder(back.status.kubeConfig, cluster);
  await another.untilAllowed();
  expect(await holder.call()).toBe(403);
  expect(Date.parse(back.status.notAfter)).toBeLessThanOrEqual(Date.parse(object.status.notAfter));
  await Promise.all([holder.close(), another.close()]);
});
