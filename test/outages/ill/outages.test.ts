import { afterAll, beforeAll, describe, it } from 'vitest';
import { startControlPlane } from '../../../lab/controlplane/control-plane.ts';
import { fillEtcd, freeEtcd } from '../../../lab/operator/etcd.ts';
import { applyKustomization } from '../../../lab/operator/kustomization.ts';
import { RunningOperator } from '../../../lab/operator/running-operator.ts';
import { operatorWorld, untilLeading } from '../../../lab/operator/world.ts';
import { WriteGate } from '../../../lab/operator/write-gate.ts';
import { systemNamespace } from '../../../src/api/names.ts';
import { liveThrough } from './outage.ts';

// Of its own: it is made ill.
const plane = await startControlPlane({ name: 'ill', etcdQuotaBytes: 32 * 2 ** 20 });
const gate = await WriteGate.start(plane);
afterAll(async () => {
  await gate.close();
  await plane.stop();
});
const world = await operatorWorld({ plane, operator: false, clear: false });
let operator: RunningOperator;

beforeAll(async () => {
  const options = { name: world.name('ill'), env: { LATCHKEY_LEASE_DURATION: '3s' } };
  operator = await RunningOperator.start(gate.access, world.guard, options);
  await untilLeading(operator);
});

const unrenewed = (reason: string) =>
  new RegExp(`\\[-\\]api failed: no lease request succeeded for \\d+ s \\(${reason}\\)`);

describe('an operator that cannot renew its lease lives on, not ready, and is back within half a minute', () => {
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
  ])('once $when: nothing is lost, and nothing was issued twice', async (outage) => {
    await liveThrough({ world, gate, operator }, outage);
  });
});
