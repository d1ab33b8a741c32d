import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startControlPlane } from '../../../lab/controlplane/control-plane.ts';
import { RunningOperator } from '../../../lab/operator/running-operator.ts';
import { timeUntil, until } from '../../../lab/operator/until.ts';
import { operatorWorld, untilLeading, untilStandingBy } from '../../../lab/operator/world.ts';
import { WriteGate } from '../../../lab/operator/write-gate.ts';
import { systemNamespace, systemObjects } from '../../../src/api/names.ts';
import { leases } from '../../../src/api/resources.ts';
import type { Lease } from '../../../src/kube/leader/lease.ts';

// Of its own: objects of other tests would give the leader work.
const plane = await startControlPlane({ name: 'idle' });
const gates = { leader: await WriteGate.start(plane), standby: await WriteGate.start(plane) };
afterAll(async () => {
  await Promise.all(Object.values(gates).map(async (gate) => await gate.close()));
  await plane.stop();
});
const world = await operatorWorld({ plane, operator: false, clear: false });
const { admin } = world;

const start = async (name: keyof typeof gates): Promise<RunningOperator> =>
  await RunningOperator.start(gates[name].access, world.guard, { name: world.name(name) });

/** Seconds for which requests are counted. */
const countedSeconds = 60;
const counted: Record<keyof typeof gates, readonly string[]> = { leader: [], standby: [] };
let leader: RunningOperator;
let standby: RunningOperator;

const readLease = async () =>
  (await admin.client.get<Lease>(leases, { namespace: systemNamespace, name: systemObjects.lease })).spec;
const renewedAt = async () => Date.parse((await readLease())?.renewTime ?? '');

/** By the renewals of the lease, so that a machine that stood still is not taken for an idle operator. */
async function passSeconds(seconds: number): Promise<void> {
  const from = await renewedAt();
  const passed = async () => (await renewedAt()) - from >= seconds * 1_000;
  await until(`${seconds} s of renewals`, passed, { timeoutMs: 240_000, everyMs: 500 });
}

beforeAll(async () => {
  leader = await start('leader');
  await untilLeading(leader);
  await admin.untilReady(await admin.createKey());
  standby = await start('standby');
  await untilStandingBy(standby);
  // What follows from the start, such as events, is told.
  await passSeconds(10);
  const before = { leader: gates.leader.requests.length, standby: gates.standby.requests.length };
  await passSeconds(countedSeconds);
  for (const name of ['leader', 'standby'] as const) counted[name] = gates[name].requests.slice(before[name]);
});

const perSecond = (requests: readonly string[]) => requests.length / countedSeconds;

describe('with nothing to do', () => {
  it('a standby sends at most 0.3 requests a second', async ({ annotate }) => {
    await annotate(`${perSecond(counted.standby).toFixed(2)} a second`);
    expect(perSecond(counted.standby), counted.standby.join('\n')).toBeLessThanOrEqual(0.3);
  });

  it('the leader sends at most 0.6 requests a second', async ({ annotate }) => {
    await annotate(`${perSecond(counted.leader).toFixed(2)} a second`);
    expect(perSecond(counted.leader), counted.leader.join('\n')).toBeLessThanOrEqual(0.6);
  });

  it('an orderly stop hands over before the standby would have asked', async ({ annotate }) => {
    const name = standby.process.name;
    await leader.end();
    const took = await timeUntil(
      'the standby holds the lease',
      async () => (await readLease())?.holderIdentity === name,
      {
        everyMs: 10,
      },
    );
    await annotate(`${took.toFixed(0)} ms after the end of the leader`);
    // It would have asked after five seconds of silence.
    expect(took).toBeLessThan(5_000);
  });
});
