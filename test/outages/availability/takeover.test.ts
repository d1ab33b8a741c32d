import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { conditionOf, type Stored } from '../../../lab/operator/api.ts';
import { concurrently } from '../../../lab/operator/concurrently.ts';
import { RunningOperator } from '../../../lab/operator/running-operator.ts';
import { healthOf, metricOf, metricsOf } from '../../../lab/operator/telemetry.ts';
import { until } from '../../../lab/operator/until.ts';
import { operatorWorld, untilLeading, untilStandingBy } from '../../../lab/operator/world.ts';
import { labels, systemNamespace, systemObjects } from '../../../src/api/names.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { leases, ownedAccessKeys, secrets } from '../../../src/api/resources.ts';
import type { Lease, LeaseSpec } from '../../../src/kube/leader/lease.ts';

const world = await operatorWorld({ operator: false });
const { admin } = world;
const leaseSeconds = 15;

/** An operator that finds another one leading. */
async function startStandby(): Promise<RunningOperator> {
  const standby = await RunningOperator.start(world.plane, world.guard, { name: world.name('standby') });
  await untilStandingBy(standby);
  return standby;
}

async function readLease(): Promise<LeaseSpec> {
  const key = { namespace: systemNamespace, name: systemObjects.lease };
  return (await admin.client.get<Lease>(leases, key)).spec ?? {};
}

const instantOf = (text: string | undefined) => Date.parse(text ?? '');

/**
 * Seconds from the signal until the other operator has made a key ready, which was created when this one was gone: by the
 * stamps of the other operator, less the time for which it already led and there was no key yet.
 */
async function secondsUntilReady(operator: RunningOperator, signal: 'SIGKILL' | 'SIGTERM'): Promise<number> {
  const told = Date.now();
  await operator.end(signal);
  const asked = Date.now();
  const key = await admin.createKey();
  await admin.untilReady(key, { timeoutMs: 90_000 });
  const { eventTime } = await admin.untilEvent(key, reasons.issued);
  const idle = Math.max(0, asked - instantOf((await readLease()).acquireTime));
  return (instantOf(eventTime) - told - idle) / 1000;
}

/** As many Secrets as anyone may make, with the label that the operator watches. Resolves with how many bytes they hold. */
async function makeLargeSecrets(): Promise<number> {
  const [count, size] = [32, 900_000];
  await concurrently(Array.from({ length: count }), async () => {
    const metadata = {
      namespace: 'default',
      name: world.name('large'),
      labels: { [labels.ownerUID]: 'none' },
    };
    const stringData = { large: 'x'.repeat(size) };
    await admin.createObject(secrets, { apiVersion: 'v1', kind: 'Secret', metadata, stringData });
  });
  return count * size;
}

/** All that it has received, as the kernel counts. */
function bytesRead({ process: { pid } }: RunningOperator): number {
  return Number(/^rchar: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]);
}

let leader: RunningOperator;
let standby: RunningOperator;

beforeAll(async () => {
  leader = await world.startOperator();
  standby = await startStandby();
});

describe('two operators', () => {
  it('hold one lease, which says who leads since when and is renewed', async () => {
    const lease = await readLease();
    expect(lease).toMatchObject({
      holderIdentity: await leader.identity(),
      leaseDurationSeconds: leaseSeconds,
      leaseTransitions: expect.any(Number),
    });
    expect(lease.acquireTime).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    expect(instantOf(lease.renewTime)).toBeGreaterThanOrEqual(instantOf(lease.acquireTime));
    expect(Math.abs(Date.now() - instantOf(lease.renewTime))).toBeLessThan(leaseSeconds * 1000);
    const renewed = await until('a renewal', async () => {
      const next = await readLease();
      return instantOf(next.renewTime) > instantOf(lease.renewTime) && next;
    });
    expect(renewed).toEqual({ ...lease, renewTime: renewed.renewTime });
  });

  it('are both ready, and one of them works', async () => {
    expect(await healthOf(standby, '/readyz')).toEqual({ status: 200, text: 'ok\n' });
    expect(await healthOf(leader, '/readyz')).toEqual({ status: 200, text: 'ok\n' });
    expect(await metricOf(leader, 'latchkey_leader')).toBe(1);
    expect(await metricsOf(standby)).toContain('\nlatchkey_leader 0\n');
    await admin.untilReady(await admin.createKey());
    const reconciles = 'latchkey_reconcile_total{controller="ownedaccesskeys",outcome="success"}';
    await until('it counts its work', async () => (await metricOf(leader, reconciles)) > 0);
    expect(await metricsOf(standby)).toContain(`\n${reconciles} 0\n`);
  });

  it('take over from a leader that is killed once its lease has run out', async ({ annotate }) => {
    const before = await readLease();
    const seconds = await secondsUntilReady(leader, 'SIGKILL');
    await annotate(`${seconds.toFixed(1)} s after SIGKILL`);
    // On an idle machine a second more than the lease.
    expect(seconds).toBeLessThan(2 * leaseSeconds);
    const after = await readLease();
    expect(after.holderIdentity).toBe(await standby.identity());
    expect(after.leaseTransitions).toBe((before.leaseTransitions ?? 0) + 1);
    expect(instantOf(after.acquireTime)).toBeGreaterThan(instantOf(before.acquireTime));
    expect(await leader.process.exited).toBe(137);
  });

  it('take over from a leader that is told to end long before its lease would run out, also beside large Secrets', async ({
    annotate,
  }) => {
    leader = standby;
    const large = await makeLargeSecrets();
    standby = await startStandby();
    const readBefore = bytesRead(standby);
    const before = await readLease();
    const seconds = await secondsUntilReady(leader, 'SIGTERM');
    const read = bytesRead(standby) - readBefore;
    await annotate(`${seconds.toFixed(1)} s after SIGTERM, ${(read / 1e6).toFixed(1)} MB read`);
    // It watches what Secrets are called, not what they hold.
    expect(read).toBeGreaterThan(0);
    expect(read).toBeLessThan(large / 2);
    // On an idle machine less than a second: the other one has a watch.
    expect(seconds).toBeLessThan(leaseSeconds - 5);
    const after = await readLease();
    expect(after.holderIdentity).toBe(await standby.identity());
    expect(after.leaseDurationSeconds).toBe(leaseSeconds);
    expect(after.leaseTransitions).toBe((before.leaseTransitions ?? 0) + 1);
    expect(await leader.process.exited).toBe(0);
  });

  it('leave nothing undone: the new leader knows all that the former ones did', async () => {
    await untilLeading(standby);
    expect(await metricOf(standby, 'latchkey_leader')).toBe(1);
    const ready = 'latchkey_credentials{kind="OwnedAccessKey",state="Issued"}';
    const { items } = await admin.client.list<Stored>(ownedAccessKeys);
    // Files before this one may have left some.
    const issued = items.filter((key) => conditionOf(key)?.reason === reasons.issued);
    expect(issued.length).toBeGreaterThanOrEqual(3);
    await until('all keys are counted', async () => (await metricOf(standby, ready)) === issued.length);
  });
});
