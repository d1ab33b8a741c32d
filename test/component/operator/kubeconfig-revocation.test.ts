import { describe, expect, it, vi } from 'vitest';
import { reasons } from '../../../src/api/reasons.ts';
import { certificateSubject } from '../../../src/credentials/certificates/subject.ts';
import { kubeErrorFromStatus, timedOut } from '../../../src/kube/kube-error.ts';
import type { VirtualClusterInstanceRecord } from '../../../src/platform/targets/target-record.ts';
import { toUntrustedServerError } from '../../../src/platform/targets/untrusted/untrusted-server-error.ts';
import { KubeConfigSimulation } from './kubeconfig-simulation.ts';

const requests = 'certificatesigningrequests';
const clusterWide = 'clusterrolebindings';
const inNamespaces = 'rolebindings';
const action = { verb: 'GET', path: '/apis/x' };
const untrusted = (error: Error): Error => toUntrustedServerError(action, error) as Error;

async function issued(spec: object = {}): Promise<KubeConfigSimulation> {
  const simulation = new KubeConfigSimulation();
  simulation.create(spec);
  await simulation.runUntilIdle();
  expect(simulation.ready).toMatchObject({ status: 'True' });
  return simulation;
}

const rotate = (simulation: KubeConfigSimulation) =>
  simulation.edit({ metadata: { annotations: { 'management.platform.sh/rotate': 'now' } } });

describe('the bindings of a revoked certificate', () => {
  const group = 'rbac.authorization.k8s.io';
  const bob = { apiGroup: group, kind: 'User', name: 'bob' };
  const subjectOf = (simulation: KubeConfigSimulation, kind: string, serial = 1) => ({
    apiGroup: group,
    kind,
    name: certificateSubject(simulation.record.uid, serial),
  });
  const plant = (
    { target }: KubeConfigSimulation,
    plural: string,
    subjects: readonly object[],
    metadata: object = {},
  ) => {
    const place = plural === inNamespaces ? { namespace: 'default' } : {};
    const name = `stray-${target.api.all(plural).length}`;
    return target.api.create(plural, { metadata: { name, ...place, ...metadata }, subjects } as never);
  };
  const subjectsOf = ({ target }: KubeConfigSimulation) =>
    [clusterWide, inNamespaces].flatMap((plural) =>
      target.api
        .all(plural)
        .flatMap((binding) => (binding as never as { subjects: { name: string }[] }).subjects),
    );

  it('are found no matter who made them, as users and as groups, everywhere, and others stay in force', async () => {
    const simulation = await issued();
    for (const plural of [clusterWide, inNamespaces])
      for (const kind of ['User', 'Group']) {
        plant(simulation, plural, [subjectOf(simulation, kind)]);
        plant(simulation, plural, [bob, subjectOf(simulation, kind), { kind: 'Group', name: 'dev' }]);
      }
    plant(simulation, clusterWide, [bob]);
    simulation.delete();
    await simulation.runUntilIdle();
    expect(simulation.object).toBeUndefined();
    expect(new Set(subjectsOf(simulation).map((subject) => JSON.stringify(subject)))).toEqual(
      new Set([JSON.stringify(bob), JSON.stringify({ kind: 'Group', name: 'dev' })]),
    );
    expect(simulation.target.api.all(clusterWide)).toHaveLength(3);
    expect(simulation.target.api.all(inNamespaces)).toHaveLength(2);
  });

  it('are found when they wait for a serial to come', async () => {
    const simulation = await issued();
    plant(simulation, clusterWide, [subjectOf(simulation, 'User', 2)]);
    rotate(simulation);
    await simulation.runUntilIdle();
    expect(simulation.target.names(clusterWide)).toEqual([`latchkey-${simulation.record.uid}-2`]);
  });

  it('are denied for a moment longer than the denial stands there: the successor waits, and no serial is lost', async () => {
    const simulation = await issued();
    plant(simulation, clusterWide, [subjectOf(simulation, 'User')]);
    let allowedAt = Number.POSITIVE_INFINITY;
    let refused = 0;
    simulation.target.onRequest = ({ method, path }) => {
      const now = simulation.clock.monotonic();
      if (method === 'DELETE' && path.includes('/validatingadmissionpolicies/')) allowedAt = now + 1_500;
      if (method !== 'POST' || !path.endsWith(`/${clusterWide}`) || now >= allowedAt) return;
      refused++;
      throw untrusted(kubeErrorFromStatus(action, 422, { kind: 'Status', reason: 'Invalid', code: 422 }));
    };
    rotate(simulation);
    await simulation.runUntilIdle();
    expect(refused).toBeGreaterThan(1);
    expect(simulation.record.status).toMatchObject({ serial: 2, boundSerials: [2] });
    expect(simulation.target.names(clusterWide)).toEqual([`latchkey-${simulation.record.uid}-2`]);
  });

  it.each(['x'.repeat(900), 'größer:als/'.replace('/', ''), '..x'])(
    'are removed under the name %s',
    async (name) => {
      const simulation = await issued();
      plant(simulation, clusterWide, [subjectOf(simulation, 'User')], { name });
      simulation.delete();
      await simulation.runUntilIdle();
      expect(simulation.object).toBeUndefined();
      expect(simulation.target.api.all(clusterWide)).toEqual([]);
    },
  );

  it('do not stay in force by a finalizer', async () => {
    const simulation = await issued();
    const finalizers = ['example.com/never'];
    plant(simulation, clusterWide, [subjectOf(simulation, 'User')], { finalizers });
    const own = `latchkey-${simulation.record.uid}-1`;
    simulation.target.api.patch(clusterWide, own, { metadata: { finalizers } }, {});
    simulation.delete();
    await simulation.runUntilIdle();
    expect(simulation.object).toBeUndefined();
    expect(subjectsOf(simulation)).toEqual([]);
  });

  it('are found among thousands, also when a page of them is larger than we read', async () => {
    const simulation = await issued();
    const annotations = { padding: 'x'.repeat(10_000) };
    for (let i = 0; i < 1_200; i++) plant(simulation, inNamespaces, [bob], { annotations });
    plant(simulation, inNamespaces, [subjectOf(simulation, 'Group')]);
    const pages: (string | null)[] = [];
    simulation.target.onRequest = ({ path, query }) => {
      if (path.endsWith('/rolebindings')) pages.push(new URLSearchParams(query).get('limit'));
    };
    simulation.delete();
    await simulation.runUntilIdle();
    expect(simulation.object).toBeUndefined();
    expect(new Set(subjectsOf(simulation).map(({ name }) => name))).toEqual(new Set(['bob']));
    expect(new Set(pages)).toEqual(new Set([null, '500', '50']));
  });

  /** Somebody else inside binds the dead certificate again whenever a binding of it is removed, so many times. */
  const binder = (simulation: KubeConfigSimulation, times: number) => {
    const subject = subjectOf(simulation, 'User');
    const { api } = simulation.target;
    const original = api.delete.bind(api);
    let left = times;
    api.delete = (plural, key, preconditions) => {
      const result = original(plural, key, preconditions);
      if (plural === clusterWide && left-- > 0)
        plant(simulation, inNamespaces, [subject], { name: `again-${left}` });
      else if (plural === inNamespaces && left-- > 0)
        plant(simulation, clusterWide, [subject], { name: `again-${left}` });
      return result;
    };
  };

  it('do not come back while their object is being deleted', async () => {
    const simulation = await issued();
    binder(simulation, 5);
    simulation.delete();
    await simulation.runUntilIdle();
    expect(simulation.object).toBeUndefined();
    expect(subjectsOf(simulation)).toEqual([]);
  });

  it('that come back without end are reported, and do not keep the object for ever', async () => {
    const simulation = await issued();
    binder(simulation, 600);
    rotate(simulation);
    await simulation.runUntilIdle(0);
    expect(simulation.ready).toMatchObject({ status: 'False', reason: reasons.targetAnswer });
    expect(simulation.ready?.message).toContain('again and again');
    simulation.delete();
    await simulation.runUntilIdle();
    expect(simulation.object).toBeUndefined();
    await simulation.runUntilIdle(600_000);
    expect(subjectsOf(simulation)).toEqual([]);
    expect(simulation.revocation).toBeUndefined();
  });
});

describe('a virtual cluster that is away when its kubeconfig is deleted', () => {
  const away = untrusted(timedOut(action, 5_000));

  it('holds the object up to the limit; a record then waits for it to come back', async () => {
    const simulation = await issued();
    const { uid } = simulation.record;
    simulation.target.failure = away;
    simulation.delete();
    const start = simulation.clock.now();
    await simulation.runUntilIdle(0);
    expect(simulation.object).toBeDefined();
    for (let i = 0; i < 70 && simulation.object !== undefined; i++) await simulation.runOnce(1_000);
    expect(simulation.object).toBeUndefined();
    expect(simulation.clock.now() - start).toBeLessThan(70_000);
    expect(simulation.revocation?.data).toMatchObject({
      uid,
      instanceNamespace: 'p-red',
      instanceName: 'shop',
      secretName: 'vc-shop',
      serials: '1',
    });
    expect(simulation.target.api.all(clusterWide)).toHaveLength(1);
    simulation.target.failure = undefined;
    await simulation.runUntilIdle(600_000);
    expect(simulation.revocation).toBeUndefined();
    expect(simulation.target.api.all(clusterWide)).toEqual([]);
    expect(simulation.target.api.all(requests)).toEqual([]);
  });

  it('for good is forgotten when the certificate has ended by itself, and asked ever less often until then', async () => {
    const simulation = await issued({ certificateTTL: 7_200 });
    simulation.target.failure = away;
    simulation.delete();
    for (let i = 0; i < 70 && simulation.object !== undefined; i++) await simulation.runOnce(1_000);
    const end = Date.parse(simulation.revocation?.data?.['notAfter'] ?? '');
    expect(end).toBeGreaterThan(Date.UTC(2026, 10, 21, 12));
    let turns = 0;
    while (simulation.revocation !== undefined && turns < 100) {
      await simulation.runOnce(600_000);
      turns += 1;
    }
    expect(simulation.clock.now()).toBeGreaterThanOrEqual(end);
    expect(turns).toBeLessThan(40);
  });

  it.each([
    [
      'the administrator Secret is gone',
      (it: KubeConfigSimulation) => {
        it.opening = { problem: { reason: reasons.kubeConfigNotFound, message: 'no Secret' } };
      },
    ],
    [
      'the instance is going',
      (it: KubeConfigSimulation) => {
        it.target.failure = away;
        if (it.instance !== undefined) it.instance = { ...it.instance, deleted: it.clock.now() };
      },
    ],
  ])('holds nothing up when %s: the record is written at once', async (_, happen) => {
    const simulation = await issued();
    happen(simulation);
    simulation.delete();
    await simulation.runUntilIdle(0);
    expect(simulation.object).toBeUndefined();
    expect(simulation.revocation).toBeDefined();
  });

  it('is cleaned all the same when only the way to its Secret is lost', async () => {
    const simulation = await issued();
    const { client } = simulation.target;
    const close = vi.spyOn(client, 'close');
    simulation.opening = { problem: { reason: reasons.kubeConfigNotFound, message: 'no Secret' } };
    const config = { server: new URL('https://10.0.0.1'), ca: simulation.ca };
    simulation.remembered = { client, config };
    simulation.delete();
    await simulation.runUntilIdle(0);
    expect(simulation.object).toBeUndefined();
    expect(simulation.revocation).toBeUndefined();
    expect(simulation.target.api.all(clusterWide)).toEqual([]);
    expect(close).toHaveBeenCalled();
  });

  it('holds nothing up when the instance is gone without a trace', async () => {
    const simulation = await issued();
    simulation.instance = undefined;
    simulation.delete();
    await simulation.runUntilIdle(0);
    expect(simulation.object).toBeUndefined();
    await simulation.runUntilIdle();
    expect(simulation.revocation).toBeUndefined();
    expect(simulation.target.api.all(clusterWide)).toEqual([]);
  });

  /** Its instance changes while it is away, so that status names no certificate any more. */
  const unnamed = async (change: Partial<VirtualClusterInstanceRecord>): Promise<KubeConfigSimulation> => {
    const simulation = await issued();
    simulation.target.failure = away;
    if (simulation.instance !== undefined) simulation.instance = { ...simulation.instance, ...change };
    await simulation.runUntilIdle(0);
    expect(simulation.record.status.boundSerials).toBeUndefined();
    return simulation;
  };

  it('lets its instance go: what is left is written down before the way to it is lost', async () => {
    const simulation = await unnamed({ deleted: 1 });
    expect(simulation.ready).toMatchObject({ reason: reasons.instanceGone });
    simulation.instance = undefined;
    simulation.target.failure = undefined;
    await simulation.runUntilIdle(30_000);
    expect(simulation.target.api.all(clusterWide)).toEqual([]);
    expect(simulation.revocation).toBeUndefined();
  });

  it.each([
    ['is going', { deleted: 1 }],
    ['was made again with the same Secret', { uid: 'made-again' }],
  ])('is revoked when it is back, also where its instance %s', async (_, change) => {
    const simulation = await unnamed(change);
    simulation.delete();
    await simulation.runUntilIdle(0);
    expect(simulation.object).toBeUndefined();
    expect(simulation.revocation).toBeDefined();
    simulation.target.failure = undefined;
    await simulation.runUntilIdle(600_000);
    expect(simulation.target.api.all(clusterWide)).toEqual([]);
    expect(simulation.target.api.all(requests)).toEqual([]);
    expect(simulation.revocation).toBeUndefined();
  });
});

describe('a kubeconfig whose object is gone without its finalizer', () => {
  const vanish = (simulation: KubeConfigSimulation) => {
    simulation.delete();
    simulation.edit({ metadata: { finalizers: [] } });
    expect(simulation.object).toBeUndefined();
  };

  it('is revoked all the same', async () => {
    const simulation = await issued();
    vanish(simulation);
    await simulation.runUntilIdle();
    expect(simulation.target.api.all(clusterWide)).toEqual([]);
    expect(simulation.revocation).toBeUndefined();
  });

  it('is revoked when the operator was not there to see it go', async () => {
    const simulation = await issued();
    vanish(simulation);
    simulation.restart();
    await simulation.runUntilIdle();
    expect(simulation.target.api.all(clusterWide)).toEqual([]);
    expect(simulation.revocation).toBeUndefined();
  });

  it('is revoked while it is kept by the finalizer of somebody else', async () => {
    const simulation = await issued();
    simulation.edit({ metadata: { finalizers: ['example.com/mine', ...simulation.record.finalizers] } });
    simulation.delete();
    simulation.edit({ metadata: { finalizers: ['example.com/mine'] } });
    await simulation.runUntilIdle();
    expect(simulation.object).toBeDefined();
    expect(simulation.target.api.all(clusterWide)).toEqual([]);
  });

  it('leaves the certificates of a living one alone', async () => {
    const simulation = await issued();
    expect(simulation.revocation).toBeDefined();
    simulation.restart();
    await simulation.runUntilIdle();
    expect(simulation.target.api.all(clusterWide)).toHaveLength(1);
    expect(simulation.revocation?.data).toMatchObject({ serials: '1', secretName: 'vc-shop' });
  });
});
