import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { answeredRequests } from '../../../lab/controlplane/answered-requests.ts';
import { conditionOf, type Stored } from '../../../lab/operator/api.ts';
import { FaultProxy } from '../../../lab/operator/fault-proxy.ts';
import { metricOf } from '../../../lab/operator/telemetry.ts';
import { timeUntil, until } from '../../../lab/operator/until.ts';
import { virtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { operatorWorld, targetSettings } from '../../../lab/operator/world.ts';
import { forEachConcurrently } from '../../../src/kube/for-each-concurrently.ts';
import { bindingsOf, issuedTogether, recordsOf } from '../../e2e/kubeconfigs/crowd.ts';
import { Holder, Project, tracesOf } from '../../e2e/kubeconfigs/kubeconfig-world.ts';
import { accessSecretOf, foundInTarget, makeInstance } from '../../e2e/targets/target-world.ts';

const world = await operatorWorld({ env: { ...targetSettings, LATCHKEY_FINALIZER_LIMIT: '15s' } });
const cluster = await virtualCluster();
const network = await FaultProxy.start(cluster.plane);
afterAll(async () => await network.close());
afterEach(async () => await network.heal());
const { admin } = world;

/** An administrator kubeconfig that leads through the network. */
const kubeConfig = async () =>
  (await cluster.adminKubeConfig()).replaceAll(cluster.plane.server, network.access.server);

/** So that a fault can come in the middle of something. */
const slowly = () => network.throttle(10_000);

describe('a network that fails in the middle of a first check', () => {
  const released = 'latchkey_finalizers_released_total{kind="VirtualClusterInstance"}';

  it('leaves nothing in the virtual cluster of an instance that is deleted then', async () => {
    slowly();
    const { instance } = await makeInstance(world, cluster, { kubeConfig: await kubeConfig() });
    const isEntered = async () => (await foundInTarget(cluster)).length > 0;
    await until('something was made', isEntered, { everyMs: 5 });
    network.loseAnswers();
    await admin.untilRefused(instance, 'TargetUnreachable');
    expect((await admin.get(accessSecretOf(instance))).data).toBeUndefined();
    expect(await isEntered()).toBe(true);
    const before = await metricOf(world.operator, released);
    await admin.delete(instance);
    await network.heal();
    await admin.untilGone(instance);
    expect(await foundInTarget(cluster)).toEqual([]);
    expect(await admin.find(accessSecretOf(instance))).toBeUndefined();
    expect(await metricOf(world.operator, released)).toBe(before);
  });
});

describe('a network between operator and virtual cluster', () => {
  const count = 3;
  let project: Project;
  /** Another project in the same virtual cluster, past the network. */
  let neighbour: Project;
  let issued: readonly { readonly object: Stored; readonly holder: Holder }[] = [];
  /** Traces of an issued kubeconfig in the virtual cluster. */
  let usual: readonly string[];

  const kindsOf = (traces: readonly string[]) => traces.map((trace) => trace.replace(/ .*/, '')).toSorted();
  const tracesOfAll = async (objects: readonly Stored[]) =>
    (await Promise.all(objects.map(async (object) => await tracesOf(object, cluster)))).flat();
  const isReady = (object: Stored) => conditionOf(object)?.status === 'True';
  async function hold(created: readonly Stored[]) {
    return await Promise.all(
      created.map(async (made) => {
        const object = await admin.untilReady(made);
        const holder = new Holder(object.status.kubeConfig, cluster);
        await holder.untilAllowed();
        return { object, holder };
      }),
    );
  }

  const createAll = async () => await Promise.all(Array.from({ length: count }, () => project.create()));

  beforeAll(async () => {
    [project, neighbour] = await Promise.all([
      Project.ready(world, cluster, {
        kubeConfig: await kubeConfig(),
        host: new URL(cluster.plane.server).host,
      }),
      Project.ready(world, cluster),
    ]);
    usual = kindsOf(await tracesOf(await neighbour.issued(), cluster));
    issued = await hold(await createAll());
  });

  const unreachable = async () => void (await admin.untilRefused(project.instance, 'TargetUnreachable'));
  const cut = async () => {
    const before = network.cuts;
    await until('connections were cut', async () => network.cuts >= before + 5);
  };

  it.each([
    ['cuts connections in mid-answer', () => network.cutInMidLine(5_000), cut],
    ['loses the answers', () => network.loseAnswers(), unreachable],
    ['lets nothing through', () => network.blackhole(), unreachable],
    ['lets 300 bytes a second through', () => network.throttle(300), unreachable],
    ['refuses connections', () => network.refuse(), unreachable],
  ])('that %s keeps nothing from being issued and revoked afterwards', async (_what, fail, untilFelt) => {
    const former = issued;
    const doomed = former.map(({ object }) => object);
    slowly();
    const created = await createAll();
    await Promise.all(doomed.map(async (object) => await admin.delete(object)));
    const isUnderWay = async () => (await tracesOfAll(created)).length > 0;
    await until('one is being issued', isUnderWay, { everyMs: 5 });
    await fail();
    expect((await tracesOfAll(doomed)).length).toBeGreaterThan(0);
    expect((await Promise.all(created.map((object) => admin.get(object)))).every(isReady)).toBe(false);

    const key = await admin.createKey();
    const elsewhere = await neighbour.create();
    const areReady = async () => isReady(await admin.get(key)) && isReady(await admin.get(elsewhere));
    expect(await timeUntil('others go on', areReady)).toBeLessThan(5_000);
    await admin.delete(elsewhere);
    await admin.untilGone(elsewhere);
    await untilFelt();

    await network.heal();
    issued = await hold(created);
    for (const { object } of issued) expect(kindsOf(await tracesOf(object, cluster))).toEqual(usual);
    for (const object of doomed) await admin.untilGone(object);
    const isDone = async () => (await recordsOf(admin, doomed)).length === 0;
    await until('nothing is left to be revoked', isDone);
    expect(await tracesOfAll(doomed)).toEqual([]);
    for (const { holder } of former) {
      expect(await holder.call()).toBe(403);
      await holder.close();
    }
  });

  it('that goes silent keeps a hundred deleted kubeconfigs until their limit, and then no one dials for each', async () => {
    const crowd = await issuedTogether(project, 100);
    const released = 'latchkey_finalizers_released_total{kind="VirtualClusterInstanceKubeConfig"}';
    const before = { dialled: network.accepted, released: await metricOf(world.operator, released) };
    network.blackhole();
    await forEachConcurrently(crowd, 8, async (object) => await admin.delete(object));
    for (const object of crowd) await admin.untilGone(object, { timeoutMs: 90_000 });
    expect(network.accepted - before.dialled).toBeLessThan(crowd.length);
    expect(await metricOf(world.operator, released)).toBe(before.released + crowd.length);
    expect(await bindingsOf(cluster, crowd)).toHaveLength(crowd.length);
    expect(await recordsOf(admin, crowd)).toHaveLength(crowd.length);

    // Each pass searches all of them once.
    const passes = async () =>
      await answeredRequests(cluster.plane, { resources: ['rolebindings'], verbs: ['LIST'] });
    const passesBefore = await passes();
    await network.heal();
    await until('no record is left', async () => (await recordsOf(admin, crowd)).length === 0);
    expect((await passes()) - passesBefore).toBeLessThan(crowd.length / 5);
    expect(await bindingsOf(cluster, crowd)).toEqual([]);
  }, 240_000);

  afterAll(async () => {
    for (const { holder } of issued) await holder.close();
  });
});
