import { afterAll, describe, expect, it } from 'vitest';
import type { ControlPlane } from '../../../lab/controlplane/control-plane.ts';
import type { Stored } from '../../../lab/operator/api.ts';
import { byShare } from '../../../lab/operator/disturbance.ts';
import { fillEtcd, freeEtcd } from '../../../lab/operator/etcd.ts';
import { startInstalled } from '../../../lab/operator/installed-plane.ts';
import { applyKustomization } from '../../../lab/operator/kustomization.ts';
import { manifestOf } from '../../../lab/operator/manifest.ts';
import { RunningOperator } from '../../../lab/operator/running-operator.ts';
import { healthOf } from '../../../lab/operator/telemetry.ts';
import { until } from '../../../lab/operator/until.ts';
import { operatorWorld, untilLeading } from '../../../lab/operator/world.ts';
import { confirmationsOf, WriteGate } from '../../../lab/operator/write-gate.ts';
import { annotations, systemNamespace } from '../../../src/api/names.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { clusters, directClusterEndpointTokens as tokens } from '../../../src/api/resources.ts';
import { createKeys, expectIssuedOnce, liveThrough, type Patient } from './outage.ts';
import { untilReady, untilReadyz } from './readyz.ts';

/** An operator on a control plane that is made ill. */
async function startPatient(
  name: string,
  plane: ControlPlane,
  env: Record<string, string> = {},
): Promise<Patient> {
  const gate = await WriteGate.start(plane);
  afterAll(async () => {
    await gate.close();
    await plane.stop();
  });
  const world = await operatorWorld({ plane, operator: false, clear: false });
  const options = { name: world.name(name), env };
  const operator = await RunningOperator.start(gate.access, world.guard, options);
  await untilLeading(operator);
  return { world, gate, operator };
}

// Two that are ill at the same time: one in ways that cost the lease, one in ways that do not.
const [plane, otherPlane] = await Promise.all([
  startInstalled({ name: 'ill', etcdQuotaBytes: 32 * 2 ** 20 }),
  startInstalled({ name: 'half-ill' }),
]);
const [without, withLease] = await Promise.all([
  startPatient('without', plane, { LATCHKEY_LEASE_DURATION: '3s' }),
  startPatient('with', otherPlane),
]);

const oneAfterTheOther = { concurrent: false };
const unrenewed = (reason: string) =>
  new RegExp(`\\[-\\]api failed: no lease request succeeded for \\d+ s \\(${reason}\\)`);

describe.concurrent('an operator that cannot renew its lease lives on, not ready, and is back within half a minute', () => {
  const roles = ['clusterrolebinding/latchkey-operator', 'rolebinding/latchkey-operator'];

  it.each([
    {
      when: 'etcd was killed and runs again',
      begin: async () => await plane.stopEtcd(),
      end: async () => await plane.startEtcd(),
      says: unrenewed('.+'),
    },
    {
      when: 'etcd was full and has room again',
      begin: async () => await fillEtcd(plane),
      end: async () => await freeEtcd(plane),
      says: unrenewed('500 .+'),
    },
    {
      when: 'its roles were taken away and are given back',
      begin: async () => await plane.kubectl(['delete', '-n', systemNamespace, ...roles]),
      end: async () => await applyKustomization(plane, 'rbac'),
      says: unrenewed('403 Forbidden'),
    },
  ])('once $when: nothing is lost, and nothing was issued twice', oneAfterTheOther, async (outage) => {
    await liveThrough(without, outage);
  });
});

describe.concurrent('an operator that keeps its lease', () => {
  const { world, gate } = withLease;
  const { admin } = world;
  let { operator } = withLease;
  const kept: Stored[] = [];

  it('goes on with the other kinds when the CRD of one is deleted', oneAfterTheOther, async () => {
    const token = await admin.untilReady(await admin.createToken());
    await otherPlane.kubectl(['delete', 'crd', `${tokens.plural}.${tokens.group}`]);
    await admin.untilGone(token);
    kept.push(...(await createKeys(withLease, 2)));
    for (const key of kept) await admin.untilReady(key);
  });

  it(
    'that begins while CRDs are missing names them, and works on the other kinds',
    oneAfterTheOther,
    async () => {
      await otherPlane.kubectl(['delete', 'crd', `${clusters.plural}.${clusters.group}`]);
      expect(await operator.log()).not.toContain('leadership lost');
      expect(await operator.end()).toBe(0);
      operator = await RunningOperator.start(gate.access, world.guard, { name: world.name('next') });
      const missing = 'not synced: directclusterendpointtokens, clusters';
      await untilReadyz(operator, 503, new RegExp(`\\[-\\]sync failed: ${missing}`));
      const keys = await createKeys(withLease, 2);
      for (const key of keys) await admin.untilReady(key);
      kept.push(...keys);
      expect(await operator.log()).toContain(missing);
    },
  );

  it(
    'goes on leading while 65 % of the answers are bad and the others late, and issues each key once',
    oneAfterTheOther,
    async () => {
      let bad = 0;
      const isBad = byShare(0.65, { status: 429 }, { status: 503 }, { status: 500 });
      gate.disturb = (request) => {
        const disturbance = isBad(request);
        if (disturbance !== undefined) bad += 1;
        return disturbance ?? { delayMs: 20 };
      };
      try {
        const ending = await admin.createKey({ user: 'alice', ttl: 3 });
        const keys = await Promise.all(Array.from({ length: 5 }, async () => await admin.createKey()));
        await until('many bad answers', async () => bad >= 60, { timeoutMs: 90_000 });
        expect((await healthOf(operator, '/livez')).status).toBe(200);
        gate.disturb = () => undefined;
        // An object that fails again and again is tried again within a minute.
        for (const key of keys) await admin.untilReady(key, { timeoutMs: 90_000 });
        await admin.untilRefused(ending, reasons.expired, { timeoutMs: 90_000 });
        await gate.settled();
        for (const key of keys) {
          const { status } = await admin.get(key);
          const confirmed = confirmationsOf(gate).filter(({ name }) => name === key.metadata.name);
          expect([status.serial, confirmed.map(({ hash }) => hash)]).toEqual([1, [status.credentialHash]]);
        }
      } finally {
        gate.disturb = () => undefined;
      }
    },
  );

  it('issues a key once whose confirmation is lost on its way', oneAfterTheOther, async () => {
    const lost: string[] = [];
    gate.disturb = (request) => {
      const isMeant = lost.length === 0 && /^PATCH .*\/ownedaccesskeys\/.*\/status/.test(request);
      if (isMeant) lost.push(request);
      return isMeant ? { isLost: true } : undefined;
    };
    const keys = await createKeys(withLease, 1);
    for (const key of keys) await admin.untilReady(key);
    expect(lost.length).toBe(1);
    kept.push(...keys);
  });

  it(
    'names the kind whose CRD was deleted, and is back within a minute of its return',
    oneAfterTheOther,
    async () => {
      await untilReadyz(
        operator,
        503,
        /\[-\]watches failed: failing: directclusterendpointtokens for \d+ s \(404 NotFound\)/,
      );
      const apply = async () => await applyKustomization(otherPlane, 'default');
      await until('kubectl apply -k config/default', apply, { timeoutMs: 120_000 });
      await until('tokens are stamped again', tokensAreStamped);
      const next = await admin.createToken();
      await untilReady(operator, 60_000);
      await admin.untilReady(next, { timeoutMs: 60_000 });
      kept.push(...(await createKeys(withLease, 1)));
      for (const key of kept) {
        await admin.untilReady(key);
        await expectIssuedOnce(withLease, key);
      }
      expect(await operator.log()).not.toContain('leadership lost');
      expect(operator.exited).toBe(false);
    },
  );

  /** For a moment after its CRD came the API server applies no policy to a kind. */
  async function tokensAreStamped(): Promise<boolean> {
    const made = await admin.client.create<Stored>(tokens, manifestOf(tokens), { dryRun: true });
    return annotations.requester in (made.metadata.annotations ?? {});
  }
});
