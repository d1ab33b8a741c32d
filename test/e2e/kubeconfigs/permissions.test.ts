import { beforeAll, describe, expect, it } from 'vitest';
import { conditionOf, type Stored, secondsAfter } from '../../../lab/operator/api.ts';
import { leastMs, until } from '../../../lab/operator/until.ts';
import { sharedVirtualCluster } from '../../../lab/operator/virtual-cluster.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { Holder, Project, tracesOf } from './kubeconfig-world.ts';

const world = await operatorWorld();
const cluster = await sharedVirtualCluster();
const { admin } = world;
let project: Project;
beforeAll(async () => {
  project = await Project.ready(world, cluster);
});

const both = ['use', 'use-as-admin'];
const key = async (spec: object = {}, { namespace } = project): Promise<string> => {
  const given = { user: 'alice', allowedNamespaces: [namespace], ...spec };
  return (await admin.untilReady(await admin.createKey(given))).metadata.name;
};

/** Each has objects of its own, and most of them wait for the operator. */
describe.concurrent('a kubeconfig', () => {
  it.each([
    ['a token', false, [], 'use'],
    ['a certificate', true, [], 'use'],
    ['a certificate', true, ['use'], 'use-as-admin'],
    ['a certificate', true, ['use-as-admin'], 'use'],
  ])(
    'with %s (%s) is not issued to who may %j, and comes when "%s" was granted',
    async (_, clientCert, verbs, ...missing) => {
      const other = await Project.ready(world, cluster, { verbs });
      const object = await other.create({ clientCert });
      const refused = await admin.untilRefused(object, 'UseNotAllowed');
      expect(conditionOf(refused, 'Reconciling')?.message).toContain(`"${missing[0]}"`);
      expect(refused.status).not.toHaveProperty('kubeConfig');
      expect(await tracesOf(object, cluster)).toEqual([]);
      await other.grant(both);
      await admin.annotate(object, { 'management.platform.sh/rotate': 'now' });
      await admin.untilReady(object);
    },
  );

  it('for the instance of its own name needs "use" on that one', async () => {
    const other = await Project.ready(world, cluster, { verbs: [] });
    const name = other.instance.metadata.name;
    const object = await other.create({ clientCert: false, virtualClusterInstance: undefined }, { name });
    await admin.untilRefused(object, 'UseNotAllowed');
    await other.grant(['use']);
    await admin.annotate(object, { 'management.platform.sh/rotate': 'now' });
    await admin.untilReady(object);
  });

  it('with a token needs no more than "use"', async () => {
    const other = await Project.ready(world, cluster, { verbs: ['use'] });
    await other.issued({ clientCert: false });
  });

  it('asks what the access key speaks for, not who declared it', async () => {
    const accessKey = await key({ user: 'bob' });
    await admin.untilRefused(await project.create({ accessKey }), 'UseNotAllowed');
    await project.issued({ accessKey: await key() });
  });

  it.each<[string, object]>([
    ['rotated', { metadata: { annotations: { 'management.platform.sh/rotate': 'now' } } }],
    ['given another life', { spec: { certificateTTL: 3_600 } }],
  ])('that is %s after "use" was taken away loses what it had, inside too', async (_, change) => {
    const other = await Project.ready(world, cluster);
    const object = await other.issued();
    const holder = new Holder(object.status.kubeConfig, cluster);
    await holder.untilAllowed();
    await other.grant([]);
    await admin.patch(object, change);
    const { status } = await admin.untilRefused(object, 'UseNotAllowed');
    expect(status).not.toHaveProperty('kubeConfig');
    expect(await holder.refusals()).toEqual(new Set([403]));
    expect(await tracesOf(object, cluster)).toEqual([]);
    await holder.close();
  });
});

describe.concurrent('the access key above a kubeconfig', () => {
  it('must invite its namespace', async () => {
    const accessKey = (await admin.untilReady(await admin.createKey({ user: 'bob' }))).metadata.name;
    const declared = await project.create({ accessKey }, { api: (await world.user('declarer')).api });
    await admin.untilRefused(declared, 'AccessKeyNotAllowed');
  });

  it.each([
    ['has a scope', { scope: { virtualClusters: [{ project: '*', virtualCluster: '*' }] } }],
    ['is scoped to nothing', { scope: {} }],
  ])('that %s allows no certificate', async (_, spec) => {
    const accessKey = await key(spec);
    const object = await project.create({ accessKey });
    const refused = await admin.untilRefused(object, 'ClientCertNotAllowed');
    expect(conditionOf(refused, 'Stalled')?.status).toBe('True');
    expect(await tracesOf(object, cluster)).toEqual([]);
    await project.issued({ accessKey, clientCert: false });
  });

  const issuedUnder = async (accessKey: string): Promise<{ object: Stored; holder: Holder }> => {
    const object = await project.issued({ accessKey, certificateTTL: 3_600 });
    const holder = new Holder(object.status.kubeConfig, cluster);
    await holder.untilAllowed();
    return { object, holder };
  };

  it('that gets a scope ends the certificate', async () => {
    const accessKey = await key();
    const { object, holder } = await issuedUnder(accessKey);
    await admin.patch({ kind: 'OwnedAccessKey', metadata: { name: accessKey } }, { spec: { scope: {} } });
    await admin.untilRefused(object, 'ClientCertNotAllowed');
    expect(await holder.refusals()).toEqual(new Set([403]));
    await holder.close();
  });

  it('that is disabled suspends the certificate, and another comes for the rest of the life', async () => {
    const accessKey = await key();
    const parent = { kind: 'OwnedAccessKey', metadata: { name: accessKey } };
    const { object, holder } = await issuedUnder(accessKey);
    await admin.patch(parent, { spec: { disabled: true } });
    await admin.untilRefused(object, 'AccessKeyNotLive');
    expect(await holder.refusals()).toEqual(new Set([403]));
    await admin.patch(parent, { spec: { disabled: false } });
    const { status } = await admin.untilReady(object);
    expect(status).toMatchObject({ serial: 2, notAfter: object.status.notAfter });
    expect(await holder.refusals(200)).toEqual(new Set([403]));
    await holder.close();
  });

  it('that is deleted ends it for good', async () => {
    const accessKey = await key();
    const { object, holder } = await issuedUnder(accessKey);
    await admin.delete({ kind: 'OwnedAccessKey', metadata: { name: accessKey } });
    await admin.untilRefused(object, 'AccessKeyGone');
    await until('nothing is left inside', async () => (await tracesOf(object, cluster)).length === 0);
    expect(await holder.refusals()).toEqual(new Set([403]));
    await holder.close();
  });

  it('that is two levels above it, is deleted and held until its token is of no use, ends it at once', async () => {
    const annotations = {
      'management.platform.sh/exchanged-until': new Date(Date.now() + 3_600_000).toISOString(),
    };
    const spec = { user: 'alice', allowedNamespaces: [project.namespace] };
    const { metadata } = await admin.untilReady(await admin.createKey(spec, { annotations }));
    const accessKey = await key({ user: undefined, accessKey: metadata.name });
    const { object, holder } = await issuedUnder(accessKey);
    await admin.delete({ kind: 'OwnedAccessKey', metadata: { name: metadata.name } });
    await admin.untilRefused(object, 'AccessKeyNotLive');
    expect(await holder.refusals()).toEqual(new Set([403]));
    await holder.close();
  });

  it('bounds the life of the certificate, which is unbound when the key ends', async () => {
    // Enough for what comes before the end, which other tests slow down.
    const ttl = 20;
    const lateMs = async () => {
      const accessKey = await key({ ttl });
      const { object, holder } = await issuedUnder(accessKey);
      const end = Date.parse(object.status.notAfter);
      expect(end).toBeLessThan(Date.now() + ttl * 1_000);
      const real = holder.reading.certificate?.validToDate.getTime() ?? 0;
      expect(real).toBeGreaterThan(end + 500_000);
      const ended = await admin.untilCondition(object, { status: 'False' }, { timeoutMs: 120_000 });
      expect(await holder.refusals()).toEqual(new Set([403]));
      await holder.close();
      return 1_000 * secondsAfter(end, ended);
    };
    expect(await leastMs(3_000, lateMs, 3)).toBeLessThan(3_000);
  });
});
