import { afterAll, beforeAll, expect, it } from 'vitest';
import { Guard } from '../controlplane/guard.ts';
import { sharedControlPlane } from '../controlplane/shared.ts';
import { RunningGateway } from './running-gateway.ts';

let guard: Guard;
beforeAll(async () => {
  guard = await Guard.start('running-gateway');
});
afterAll(async () => await guard.stop());

it('says which gateway was not ready in time, and what it still waits for', async () => {
  const plane = await sharedControlPlane();
  // The API server refuses it, so it never knows which credentials are good.
  const kubeconfig = await plane.kubeconfigWithToken('refused-gateway', 'no token of this cluster');
  const start = RunningGateway.start(plane, guard, { name: 'replica-7', kubeconfig, readyTimeoutMs: 1 });
  await expect(start).rejects.toThrow(/replica-7 is ready.*index failed/s);
});
