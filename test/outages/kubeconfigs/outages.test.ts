import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { conditionOf, type Stored } from '../../../lab/operator/api.ts';
import { metricOf } from '../../../lab/operator/telemetry.ts';
import { timeUntil, until } from '../../../lab/operator/until.ts';
import { VirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { operatorWorld, targetSettings } from '../../../lab/operator/world.ts';
import { labels, systemNamespace } from '../../../src/api/names.ts';
import { configMaps, secrets } from '../../../src/api/resources.ts';
import { forEachConcurrently } from '../../../src/kube/for-each-concurrently.ts';
import { bindingsOf, issuedTogether, recordsOf } from '../../e2e/kubeconfigs/crowd.ts';
import { Holder, Project, readingOf, tracesOf } from '../../e2e/kubeconfigs/kubeconfig-world.ts';
import { rewrite } from '../../e2e/targets/target-world.ts';

const [world, first] = await Promise.all([
  operatorWorld({ env: { ...targetSettings, LATCHKEY_FINALIZER_LIMIT: '15s' } }),
  VirtualCluster.start(),
]);
const { admin, plane } = world;
let cluster = first;
let project: Project;
afterAll(async () => await cluster.stop());

beforeAll(async () => {
  project = await Project.ready(world, cluster);
});

const serial =
  (wanted: number) =>
  ({ status }: Stored) =>
    status.serial === wanted && status.credentialHash;
const released = 'latchkey_finalizers_released_total{kind="VirtualClusterInstanceKubeConfig"}';

/** Finds the record of what is to be revoked. */
async function recordOf({ metadata }: Stored): Promise<Stored | undefined> {
  const labelSelector = `${labels.ownerUID}=${metadata.uid}`;
  const { items } = await admin.client.list<Stored>(configMaps, {
    namespace: systemNamespace,
    labelSelector,
  });
  return items[0];
}

/**
 * A revocation that has failed since then is tried again within twice that time: its pauses double, and chance may halve
 * each of them. A try may take half a minute.
 */
const withNextTry = (since: number) => ({ timeoutMs: 2 * (Date.now() - since) + 40_000 });

async function untilForgotten(object: Stored, since = Date.now()): Promise<void> {
  const gone = async () => (await recordOf(object)) === undefined;
  await until('no record is left', gone, withNextTry(since));
}

async function goAway(objects: readonly Stored[]): Promise<void> {
  for (const object of objects) await admin.delete(object);
  for (const object of objects) await admin.untilGone(object, { timeoutMs: 90_000 });
}

const unreachable = 'latchkey_revocations_pending{reason="TargetUnreachable"}';

async function holderOf({ status }: Stored): Promise<Holder> {
  const holder = new Holder(status.kubeConfig, cluster);
  await holder.untilAllowed();
  return holder;
}

describe('the role that an instance gives its users', () => {
  it('is that of its certificates, and another certificate comes when it changes', async () => {
    await admin.patch(project.instance, { spec: { access: { clusterRole: 'view' } } });
    // A kubeconfig that is seen before the patch is gets the former role, and another certificate right after.
    await admin.untilReady(project.instance);
    const object = await project.issued({ certificateTTL: 3_600 });
    const holder = new Holder(object.status.kubeConfig, cluster);
    let seen: number | undefined;
    const status = async (path: string, of = holder) => {
      seen = await of.call(path);
      return seen;
    };
    const looks = async () => (await status('/api/v1/pods')) === 200;
    // A young control plane takes its time to fill the role `view`.
    await until('it may look', looks, { timeoutMs: 120_000, seen: () => seen });
    expect(await status('/api/v1/secrets')).toBe(403);

    await admin.patch(project.instance, { spec: { access: { clusterRole: 'cluster-admin' } } });

    const next = await admin.until(object, 'another', serial(2));
    await admin.untilEvent(object, 'TargetChanged');
    expect(next.status.notAfter).toBe(object.status.notAfter);
    expect(await holder.refusals()).toEqual(new Set([403]));
    const successor = new Holder(next.status.kubeConfig, cluster);
    await until('it may read Secrets', async () => (await status('/api/v1/secrets', successor)) === 200);
    for (const each of [holder, successor]) await each.close();
  });
});

describe('the administrator kubeconfig', () => {
  it('may be replaced by another of the same cluster, and no certificate ends by that', async () => {
    const object = await project.issued();
    const holder = await holderOf(object);
    await rewrite(world, project.made, await cluster.adminKubeConfig('another-admin'));
    await admin.annotate(object, { 'management.platform.sh/rotate': 'now' });
    await admin.until(object, 'rotated with the new one', serial(2));
    expect(await holder.refusals(200)).toEqual(new Set([403]));
    await holder.close();
  });

  it('that is gone holds up no deletion: what was read of it before still serves to revoke', async () => {
    const other = await Project.ready(world, cluster);
    const object = await other.issued();
    const holder = await holderOf(object);
    await admin.delete(other.made.secret);
    await admin.delete(object);
    await admin.untilGone(object);
    expect(await recordOf(object)).toBeUndefined();
    expect(await holder.refusals()).toEqual(new Set([403]));
    expect(await tracesOf(object, cluster)).toEqual([]);
    await holder.close();
  });

  it('that no one has read leaves a record of what is to be revoked when it is there again', async () => {
    const other = await Project.ready(world, cluster);
    const object = await other.issued();
    const holder = await holderOf(object);
    const { metadata, data } = await admin.get(other.made.secret);
    await world.operator.end();
    await admin.delete(other.made.secret);
    await world.startOperator();
    await admin.delete(object);
    const since = Date.now();
    await admin.untilGone(object);
    expect(await recordOf(object)).toBeDefined();
    expect(await holder.call()).toBe(200);
    const { name, labels: marks = {} } = metadata;
    const again = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace: other.namespace, labels: marks },
    };
    await admin.createObject(secrets, { ...again, data });
    await until('it is revoked', async () => (await holder.call()) === 403, withNextTry(since));
    await untilForgotten(object, since);
    expect(await tracesOf(object, cluster)).toEqual([]);
    await holder.close();
  });
});

describe.concurrent('the namespace of a project', () => {
  it('goes away with everything in it, and with it what its kubeconfigs had inside', async () => {
    const other = await Project.ready(world, cluster);
    const objects = await Promise.all([
      other.issued(),
      other.issued({ secretRef: { name: world.name('out') } }),
      other.issued({ clientCert: false }),
      other.create({ server: 'https://never.example.com', virtualClusterInstance: 'missing' }),
    ]);
    const gone = { kind: 'Namespace', metadata: { name: other.namespace } };
    await plane.kubectl(['delete', 'namespace', other.namespace, '--wait=false']);
    await admin.untilGone(gone, { timeoutMs: 120_000 });
    // Where the instance went first, its revocation goes on by the record after the object is gone.
    for (const object of objects) {
      await untilForgotten(object);
      expect(await tracesOf(object, cluster)).toEqual([]);
    }
  });

  it('leaves nothing inside, in whatever order the things in it go', async () => {
    // The namespace controller takes the kinds in another order each time. On a busy machine it pauses in between.
    const orders = [
      ['Secret', 'instance', 'kubeconfigs'],
      ['Secret', 'kubeconfigs', 'instance'],
      ['instance', 'Secret', 'kubeconfigs'],
      ['instance', 'kubeconfigs', 'Secret'],
      ['kubeconfigs', 'Secret', 'instance'],
      ['kubeconfigs', 'instance', 'Secret'],
    ] as const;
    await Promise.all(orders.map(goInOrder));
  });
});

async function goInOrder(order: readonly ('Secret' | 'instance' | 'kubeconfigs')[]): Promise<void> {
  const other = await Project.ready(world, cluster);
  // Only one of them is revoked at a time: the instance may be gone before the last of them is due.
  const objects = await Promise.all([other.issued(), other.issued(), other.issued()]);
  const goes = {
    Secret: () => admin.delete(other.made.secret),
    instance: () => goAway([other.instance]),
    kubeconfigs: () => goAway(objects),
  };
  for (const kind of order) await goes[kind]();
  for (const object of objects) {
    await untilForgotten(object);
    expect(await tracesOf(object, cluster), order.join(', ')).toEqual([]);
  }
}

describe('a virtual cluster that is away', () => {
  let isAway = false;
  async function leave(): Promise<void> {
    isAway = true;
    await cluster.plane.stopApiServer();
  }
  async function comeBack(): Promise<void> {
    isAway = false;
    await cluster.plane.startApiServer();
  }
  // Where a test failed while it was away, those after it find it back.
  afterEach(async () => {
    if (isAway) await comeBack();
  });

  it('takes no kubeconfig away, and has its deleted ones revoked when it is there again', async () => {
    const [kept, deleted, unlucky] = [await project.issued(), await project.issued(), await project.issued()];
    const holder = await holderOf(deleted);
    const releasedBefore = await metricOf(world.operator, released);
    await leave();
    // A request that was under way may take its time limit, three times.
    await admin.untilCondition(project.instance, { status: 'False' }, { timeoutMs: 90_000 });

    await admin.delete(deleted);
    const since = Date.now();
    await admin.annotate(unlucky, { 'management.platform.sh/rotate': 'now' });
    const away = { type: 'Reconciling', status: 'True', reason: 'TargetUnreachable' } as const;
    const refused = await admin.untilCondition(unlucky, away, { timeoutMs: 90_000 });
    expect(conditionOf(refused)?.status).toBe('False');
    expect(refused.status).toMatchObject({ boundSerials: [1] });
    expect(refused.status).not.toHaveProperty('kubeConfig');
    expect((await admin.get(kept)).status.kubeConfig).toBe(kept.status.kubeConfig);
    await admin.untilGone(deleted, { timeoutMs: 90_000 });
    const { eventTime } = await admin.untilEvent(deleted, 'FinalizerReleased');
    expect(Date.parse(eventTime) - since).toBeGreaterThan(13_000);
    expect(Date.parse(eventTime) - since).toBeLessThan(30_000);
    expect((await recordOf(deleted))?.data).toMatchObject({
      instanceNamespace: project.namespace,
      secretName: project.made.secret.metadata.name,
    });
    expect(await metricOf(world.operator, released)).toBe(releasedBefore + 1);

    await comeBack();

    await until('it is revoked', async () => (await holder.call()) === 403, withNextTry(since));
    await untilForgotten(deleted, since);
    expect(await tracesOf(deleted, cluster)).toEqual([]);
    const again = ({ status }: Stored) => status.serial > 1 && status.credentialHash;
    // A signer that has lost its API server for a minute takes its time to come back.
    await admin.until(unlucky, 'rotated', again, { timeoutMs: 150_000 });
    expect(await tracesOf(unlucky, cluster)).toHaveLength(2);
    await holder.close();
  }, 330_000);

  it('and comes back as another one with another authority gets other certificates', async () => {
    const object = await project.issued();
    const { port } = cluster;
    await cluster.stop();
    cluster = await VirtualCluster.start({ port });
    await rewrite(world, project.made, await cluster.adminKubeConfig());

    const next = await admin.until(object, 'another certificate', serial(2), { timeoutMs: 90_000 });

    await admin.untilEvent(object, 'TargetChanged');
    expect(readingOf(next.status.kubeConfig).ca).toBe(Buffer.from(cluster.plane.caData, 'base64').toString());
    const holder = await holderOf(next);
    await holder.close();
  });

  it('has a hundred certificates revoked within five seconds of its first answer', async ({ annotate }) => {
    const crowd = await issuedTogether(project, 100);
    await leave();
    await admin.untilCondition(project.instance, { status: 'False' }, { timeoutMs: 90_000 });
    await forEachConcurrently(crowd, 8, async (object) => {
      await admin.delete(object);
      await admin.patch(object, { metadata: { finalizers: null } });
    });
    await until('each is tried', async () => (await metricOf(world.operator, unreachable)) >= crowd.length);
    const bound = async () => (await bindingsOf(cluster, crowd)).length;
    const started = comeBack();
    await until('it answers', async () => (await bound()) >= 0, { timeoutMs: 120_000 });
    const took = await timeUntil('they are revoked', async () => (await bound()) === 0, { seen: bound });
    await annotate(`${(took / 1_000).toFixed(1)} s`);
    expect(took).toBeLessThan(5_000);
    await started;
    await until('no record is left', async () => (await recordsOf(admin, crowd)).length === 0);
  }, 330_000);

  it('with its namespace, is gone in no time, and revoked all the same when it is there again', async () => {
    // Its signer asks ever more rarely while its API server is away, and may do so up to a minute after that is back.
    const object = await admin.untilReady(await project.create(), { timeoutMs: 150_000 });
    const holder = await holderOf(object);
    await leave();
    const since = Date.now();
    const gone = { kind: 'Namespace', metadata: { name: project.namespace } };
    await plane.kubectl(['delete', 'namespace', project.namespace, '--wait=false']);
    await admin.untilGone(object, { timeoutMs: 50_000 });
    await admin.untilGone(gone, { timeoutMs: 90_000 });
    expect(await recordOf(object)).toBeDefined();

    await comeBack();

    await until('it is revoked', async () => (await holder.call()) === 403, withNextTry(since));
    await untilForgotten(object, since);
    expect(await tracesOf(object, cluster)).toEqual([]);
    await holder.close();
  }, 330_000);
});
