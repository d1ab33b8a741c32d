import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { freePort } from '../../../lab/controlplane/ports.ts';
import { conditionOf, type Stored } from '../../../lab/operator/api.ts';
import { uniqueName } from '../../../lab/operator/manifest.ts';
import { metricOf } from '../../../lab/operator/telemetry.ts';
import { timeUntil } from '../../../lab/operator/until.ts';
import { VirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { operatorWorld, targetSettings } from '../../../lab/operator/world.ts';
import { virtualClusterInstances } from '../../../src/api/resources.ts';
import {
  accessOf,
  accessSecretOf,
  foundInTarget,
  type Made,
  makeInstance,
  rewrite,
} from '../../e2e/targets/target-world.ts';

const world = await operatorWorld({
  env: { ...targetSettings, LATCHKEY_LOG_LEVEL: 'trace', LATCHKEY_FINALIZER_LIMIT: '15s' },
});
const { admin } = world;
let cluster = await VirtualCluster.start();
afterAll(async () => await cluster.stop());

/** A kubeconfig like the real one, with changes to its cluster and its user. */
function altered(change: { readonly cluster?: object; readonly user?: object } = {}): string {
  const { server, caData } = cluster.plane;
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server, 'certificate-authority-data': caData, ...change.cluster } }],
    users: [{ name: 'u', user: { token: 'canary-of-a-bearer-token', ...change.user } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  });
}

const released = 'latchkey_finalizers_released_total{kind="VirtualClusterInstance"}';
let deadSince: number;
let dead: Stored;
let made: Made;

beforeAll(async () => {
  // Its virtual cluster answers no more. It is deleted now, and checked again when its time is up.
  const server = `https://127.0.0.1:${await freePort()}`;
  const doomed = await makeInstance(world, cluster);
  dead = doomed.instance;
  await admin.untilReady(dead);
  await rewrite(world, doomed, altered({ cluster: { server } }));
  await admin.untilRefused(dead, 'TargetUnreachable');
  deadSince = Date.now();
  await admin.delete(dead);
  made = await makeInstance(world, cluster);
  await admin.untilReady(made.instance);
});

describe('the administrator kubeconfig', () => {
  it('may come after the instance', async () => {
    const early = await admin.create(virtualClusterInstances, {}, { name: uniqueName('early') });
    const waiting = await admin.untilRefused(early, 'KubeConfigNotFound');
    expect(waiting.status.phase).toBe('Pending');
    expect(conditionOf(waiting, 'Reconciling')?.status).toBe('True');
    expect(conditionOf(waiting, 'Stalled')).toBeUndefined();
  });

  // Two neighbours with one reason would not show that the second was read.
  it.each([
    ['a program to run', 'KubeConfigRefused', () => altered({ user: { exec: { command: 'true' } } })],
    ['a loopback name', 'AddressRefused', () => altered({ cluster: { server: 'https://[::1]:6443' } })],
    ['no YAML', 'KubeConfigRefused', () => '{canary-of-a-bearer-token'],
    ['a token that no one knows', 'TargetUnauthorized', () => altered()],
    [
      'the address of a metadata service',
      'AddressRefused',
      () => altered({ cluster: { server: 'https://169.254.169.254' } }),
    ],
  ])('with %s is said to be wrong: %s', async (_what, reason, kubeConfig) => {
    await rewrite(world, made, kubeConfig());
    const { status } = await admin.untilRefused(made.instance, reason);
    expect(status.phase).toBe('Failed');
    const isFinal = reason !== 'TargetUnauthorized';
    expect(conditionOf({ ...made.instance, status }, isFinal ? 'Stalled' : 'Reconciling')?.status).toBe(
      'True',
    );
    await admin.untilEvent(made.instance, reason);
  });

  it('of somebody without rights is said to be wrong', async () => {
    const { plane } = cluster;
    const file = await plane.kubeconfigFor('nobody-special');

    await rewrite(world, made, await readFile(file, 'utf8'));
    await admin.untilRefused(made.instance, 'TargetForbidden');
  });

  it('of another administrator works as well, and the token stays', async () => {
    const before = await accessOf(world, made.instance);
    await rewrite(world, made, await cluster.adminKubeConfig('another-admin'));
    await admin.untilReady(made.instance);
    expect(await accessOf(world, made.instance)).toEqual(before);
  });
});

describe('a virtual cluster', () => {
  it('that stops is unreachable, and ready when it is back', async () => {
    await cluster.plane.stopApiServer();
    try {
      const away = await admin.untilRefused(made.instance, 'TargetUnreachable', { timeoutMs: 90_000 });
      expect(conditionOf(away, 'Reconciling')?.status).toBe('True');
    } finally {
      await cluster.plane.startApiServer();
    }
    await admin.untilReady(made.instance, { timeoutMs: 90_000 });
  });

  it('that comes back as another one is not trusted before its own kubeconfig is there', async () => {
    const before = await accessOf(world, made.instance);
    const { port } = cluster;
    await cluster.stop();
    cluster = await VirtualCluster.start({ port });
    await admin.untilRefused(made.instance, 'TargetNotTrusted', { timeoutMs: 90_000 });
    expect(await foundInTarget(cluster)).toEqual([]);
    expect(await accessOf(world, made.instance)).toEqual(before);

    await rewrite(world, made, await cluster.adminKubeConfig());

    await admin.untilReady(made.instance, { timeoutMs: 90_000 });
    const access = await accessOf(world, made.instance);
    expect(access.server).toBe(before.server);
    expect(access.ca).not.toBe(before.ca);
    expect(access.token).not.toBe(before.token);
    expect(await foundInTarget(cluster)).toEqual(['account', 'role', 'binding', 'users']);
  });
});

describe('a deleted instance', () => {
  it('whose kubeconfig is gone goes at once, and takes its access with it', async () => {
    const gone = await makeInstance(world, cluster);
    await admin.untilReady(gone.instance);
    await admin.delete(gone.secret);
    await admin.delete(gone.instance);
    const isGone = async () => (await admin.find(gone.instance)) === undefined;
    expect(await timeUntil('the instance is gone', isGone)).toBeLessThan(12_000);
    expect(await admin.find(accessSecretOf(gone.instance))).toBeUndefined();
  });

  it('whose virtual cluster is gone waits a minute for it and no longer, and that is told', async () => {
    await admin.untilGone(dead, { timeoutMs: 90_000 });
    const event = await admin.untilEvent(dead, 'FinalizerReleased');
    expect(event.type).toBe('Warning');
    expect(await metricOf(world.operator, released)).toBe(1);
    expect(Date.now() - deadSince).toBeGreaterThan(13_000);
  });

  it('that was never connected goes at once, and raises no alarm', async () => {
    const server = `https://127.0.0.1:${await freePort()}`;
    const kubeConfig = altered({ cluster: { server } });
    const { instance } = await makeInstance(world, cluster, { kubeConfig });
    await admin.untilRefused(instance, 'TargetUnreachable');
    const before = await metricOf(world.operator, released);
    await admin.delete(instance);
    const isGone = async () => (await admin.find(instance)) === undefined;
    expect(await timeUntil('the instance is gone', isGone)).toBeLessThan(12_000);
    expect(await metricOf(world.operator, released)).toBe(before);
    const events = await admin.eventsOf(instance);
    expect(events.map(({ reason }) => reason)).not.toContain('FinalizerReleased');
  });

  it('was said to be terminating meanwhile', async () => {
    const slow = await makeInstance(world, cluster);
    const finalizers = [
      ...((await admin.untilReady(slow.instance)).metadata.finalizers ?? []),
      'example.com/slow',
    ];
    await admin.patch(slow.instance, { metadata: { finalizers } });
    await admin.delete(slow.instance);
    const terminating = await admin.until(
      slow.instance,
      'only the other finalizer is left',
      ({ metadata }) => metadata.finalizers?.join() === 'example.com/slow',
    );
    expect(terminating.status.phase).toBe('Terminating');
    expect(conditionOf(terminating)).toMatchObject({ status: 'False', reason: 'Deleting' });
    await admin.patch(slow.instance, { metadata: { finalizers: null } });
    await admin.untilGone(slow.instance);
  });
});

describe('the log', () => {
  it('has nothing of the kubeconfigs that were refused', async () => {
    const log = await world.operator.log();
    expect(log).toContain('KubeConfigRefused');
    for (const canary of ['canary-of-a-bearer-token', '169.254.169.254', cluster.plane.server])
      expect(log).not.toContain(canary);
  });
});
