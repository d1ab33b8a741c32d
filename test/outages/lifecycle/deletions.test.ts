import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sharedControlPlane } from '../../../lab/controlplane/shared.ts';
import type { Stored } from '../../../lab/operator/api.ts';
import { RunningOperator } from '../../../lab/operator/running-operator.ts';
import { until } from '../../../lab/operator/until.ts';
import { insider, sharedVirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { operatorWorld, targetSettings, untilLeading } from '../../../lab/operator/world.ts';
import { outlineOf } from '../../../lab/operator/write.ts';
import { WriteGate } from '../../../lab/operator/write-gate.ts';
import {
  directClusterEndpointTokens,
  ownedAccessKeys,
  type Resource,
  virtualClusterInstanceKubeConfigs,
} from '../../../src/api/resources.ts';
import { forEachConcurrently } from '../../../src/kube/for-each-concurrently.ts';
import { Project } from '../../e2e/kubeconfigs/kubeconfig-world.ts';

const plane = await sharedControlPlane();
const cluster = await sharedVirtualCluster();
const gates = [await WriteGate.start(plane), await WriteGate.start(cluster.plane)] as const;
afterAll(async () => {
  for (const gate of gates) await gate.close();
});
const world = await operatorWorld({ plane, operator: false });
const { admin } = world;
/** So many are made and deleted at a time; of the garbage collector's share of the requests more are needed to tell. */
const [few, many] = [25, 50];
let project: Project;

beforeAll(async () => {
  const options = { name: world.name('deletions'), env: targetSettings };
  await untilLeading(await RunningOperator.start(gates[0].access, world.guard, options));
  const file = await gates[1].access.kubeconfigWithToken(insider.user, cluster.plane.tokenOf(insider.user));
  project = await Project.ready(world, cluster, { kubeConfig: await readFile(file, 'utf8') });
});

/** Makes so many, each with a Secret, and all of them ready. */
async function issued(create: (name: string) => Promise<Stored>, crowd = few): Promise<readonly Stored[]> {
  const made: Stored[] = [];
  const names = Array.from({ length: crowd }, () => world.name('gone'));
  await forEachConcurrently(names, 8, async (name) => made.push(await create(name)));
  for (const object of made) await admin.untilReady(object, { timeoutMs: 120_000 });
  return made;
}

const inDefault = (name: string) => ({ secretRef: { namespace: 'default', name } });
const key = async (name: string) => await admin.createKey({ user: 'alice', ...inDefault(name) }, { name });
const token = async (name: string) => await admin.createToken(inDefault(name), { name });
const kubeConfig = async (name: string, spec: object = {}) =>
  await project.create({ secretRef: { name }, ...spec }, { name });

/** Waits until none of them is there, with few requests. */
async function untilAllGone(objects: readonly Stored[], resource: Resource): Promise<void> {
  const uids = new Set(objects.map(({ metadata }) => metadata.uid));
  const left = async () =>
    (await admin.client.list(resource)).items.filter(({ metadata }) => uids.has(metadata.uid)).length;
  const options = { timeoutMs: 180_000, everyMs: 250, seen: left };
  await until('all are gone', async () => (await left()) === 0, options);
}

/** Collects what was asked for, in both clusters, and not found. */
async function missedWhile(
  happens: () => Promise<unknown>,
): Promise<{ readonly all: number; readonly missed: readonly string[] }> {
  const before = gates.map(({ passed }) => passed.length);
  await happens();
  for (const gate of gates) await gate.settled();
  const passed = gates.flatMap((gate, index) => gate.passed.slice(before[index]));
  const missed = passed.filter(({ status }) => status === 404);
  return { all: passed.length, missed: missed.map((write) => `${outlineOf(write)} ${write.name}`) };
}

/** The object of a kubeconfig in a name that was made for it. */
const objectOf = (outline: string): string =>
  /latchkey-(?:revocation-)?([\da-f-]{36})/.exec(outline)?.[1] ?? outline;

/**
 * Kubeconfigs and the records of their certificates come by two watches. Where the one of records is later, its controller finds
 * the object gone and the record still there, so it asks once more. A kubeconfig with a token has no record.
 */
const maxRecordsSeenLate = few / 10;

describe('a deletion asks for nothing that is not there any more', () => {
  it.each<[string, Resource, (name: string) => Promise<Stored>, number]>([
    ['keys', ownedAccessKeys, key, 0],
    ['tokens', directClusterEndpointTokens, token, 0],
    [
      'kubeconfigs with a token',
      virtualClusterInstanceKubeConfigs,
      (name) => kubeConfig(name, { clientCert: false }),
      0,
    ],
    [
      'kubeconfigs with a certificate',
      virtualClusterInstanceKubeConfigs,
      (name) => kubeConfig(name),
      maxRecordsSeenLate,
    ],
  ])('of %s with a Secret', async (_what, resource, create, maxMissed) => {
    const objects = await issued(create);
    const { missed } = await missedWhile(async () => {
      await forEachConcurrently(objects, 8, async (object) => await admin.delete(object));
      await untilAllGone(objects, resource);
    });
    const twice = new Set(missed.map(objectOf));
    expect(twice.size, missed.join()).toBeLessThanOrEqual(maxMissed);
  });

  it.each<[string, Resource, (name: string) => Promise<Stored>]>([
    ['keys', ownedAccessKeys, key],
    ['kubeconfigs', virtualClusterInstanceKubeConfigs, (name) => kubeConfig(name, { clientCert: false })],
  ])(
    'of %s in the foreground, where the garbage collector deletes their Secrets',
    async (_what, resource, create) => {
      const objects = await issued(create, many);
      const { all, missed } = await missedWhile(async () => {
        const options = { propagationPolicy: 'Foreground' } as const;
        await forEachConcurrently(objects, 8, async (object) => await admin.delete(object, options));
        await untilAllGone(objects, resource);
      });
      expect(missed.length, missed.join()).toBeLessThanOrEqual(all / 50);
    },
  );

  it('of a namespace, but for Secrets, each of them once', async () => {
    const objects = await issued((name) => kubeConfig(name, { clientCert: false }));
    const { missed } = await missedWhile(async () => {
      await plane.kubectl(['delete', 'namespace', project.namespace, '--wait=false']);
      await untilAllGone(objects, virtualClusterInstanceKubeConfigs);
    });
    // The namespace controller deletes the Secrets in the same moments: each may be asked for in vain, once.
    const others = missed.filter((outline) => !outline.startsWith('DELETE secrets '));
    expect(others.length, others.join()).toBeLessThanOrEqual(1);
    expect(new Set(missed).size, missed.join()).toBe(missed.length);
  });
});
