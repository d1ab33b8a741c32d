import { afterAll, beforeAll, describe, expect, it, onTestFailed } from 'vitest';
import type { ControlPlaneAccess } from '../../../lab/controlplane/access.ts';
import { sharedControlPlane } from '../../../lab/controlplane/shared.ts';
import { FaultProxy } from '../../../lab/operator/fault-proxy.ts';
import { RunningOperator } from '../../../lab/operator/running-operator.ts';
import { healthOf } from '../../../lab/operator/telemetry.ts';
import { until } from '../../../lab/operator/until.ts';
import { operatorWorld, untilLeading, untilStandingBy } from '../../../lab/operator/world.ts';
import { WriteGate } from '../../../lab/operator/write-gate.ts';
import { untilReady, untilReadyz } from './readyz.ts';

const plane = await sharedControlPlane();
const network = await FaultProxy.start(plane);
const gates = { leader: await WriteGate.start(plane), standby: await WriteGate.start(plane) };
afterAll(async () => {
  await network.close();
  await Promise.all(Object.values(gates).map(async (gate) => await gate.close()));
});
const world = await operatorWorld({ plane, operator: false });

let leader: RunningOperator;
let standby: RunningOperator;
let distant: RunningOperator;

const start = async (name: string, access: ControlPlaneAccess): Promise<RunningOperator> => {
  const env = { LATCHKEY_LEASE_DURATION: '3s' };
  return await RunningOperator.start(access, world.guard, { name: world.name(name), env });
};

beforeAll(async () => {
  leader = await start('leader', gates.leader.access);
  await untilLeading(leader);
  [standby, distant] = await Promise.all([
    start('standby', gates.standby.access),
    start('distant', network.access),
  ]);
  await Promise.all([standby, distant].map(untilStandingBy));
});

it('an operator waits for an API server that is away when it starts, not ready, and begins when it is there', async () => {
  const away = await FaultProxy.start(plane);
  try {
    await away.refuse();
    const early = await start('early', away.access);
    onTestFailed(async () => void (await early.end('SIGKILL')));
    const failures = async () => (await early.log()).split('"err":').length - 1;
    await until('it has tried twice', async () => (await failures()) >= 2, { timeoutMs: 90_000 });
    await untilReadyz(early, 503, /\[-\]api failed: not reached yet/);
    expect(early.exited).toBe(false);
    await away.heal();
    await untilStandingBy(early);
    expect(await early.end()).toBe(0);
  } finally {
    await away.close();
  }
});

/** Its watches end at once, and go on as far as it may. */
const cut = (gate: WriteGate): void => {
  gate.shut();
  gate.open();
};

describe.concurrent('an operator that does not get through to the API server', () => {
  it('stays ready while that is short; is not ready when nothing comes back, and when all is refused', async () => {
    const failures = async () => (await distant.log()).split('lease request failed').length - 1;
    await network.refuse();
    await until('lease requests fail', async () => (await failures()) >= 2, { timeoutMs: 90_000 });
    expect((await healthOf(distant, '/readyz')).status).toBe(200);
    await network.heal();
    await untilReady(distant);
    network.blackhole();
    await untilReadyz(
      distant,
      503,
      /\[-\]api failed: no lease request succeeded for \d+ s \(ERR_KUBE_TIMEOUT\)/,
    );
    await network.refuse();
    await untilReadyz(distant, 503, /\[-\]api failed: .* \(ERR_KUBE_UNREACHABLE\)/);
    await network.heal();
    await untilReady(distant);
  });

  it('is not ready as leader for which a kind or the right to it is gone, or whose lease requests are answered with errors', async () => {
    gates.leader.disturb = (request) => {
      if (request.includes('/ownedaccesskeys')) return { status: 404 };
      return request.includes('/directclusterendpointtokens') ? { status: 403 } : undefined;
    };
    cut(gates.leader);
    await untilReadyz(
      leader,
      503,
      /\[-\]watches failed: failing: ownedaccesskeys for \d+ s \(404 NotFound\), directclusterendpointtokens for \d+ s \(403 Forbidden\)/,
    );
    gates.leader.disturb = (request) => (request.includes('/leases') ? { status: 500 } : undefined);
    await untilReadyz(
      leader,
      503,
      /\[-\]api failed: no lease request succeeded for \d+ s \(500 InternalError\)/,
    );
    gates.leader.disturb = () => undefined;
    await untilReady(leader);
  });

  it('is not ready as standby that cannot watch the policies any more', async () => {
    gates.standby.disturb = (request) => (request.includes('/mutatingadm') ? { status: 403 } : undefined);
    cut(gates.standby);
    await untilReadyz(
      standby,
      503,
      /\[-\]watches failed: failing: admission policies for \d+ s \(403 Forbidden\)/,
    );
    gates.standby.disturb = () => undefined;
    cut(gates.standby);
    await untilReady(standby);
  });
});
