import { afterAll, expect, it } from 'vitest';
import { sharedControlPlane } from '../../../lab/controlplane/shared.ts';
import { FaultProxy } from '../../../lab/operator/fault-proxy.ts';
import { RunningOperator } from '../../../lab/operator/running-operator.ts';
import { operatorWorld, untilLeading } from '../../../lab/operator/world.ts';

const plane = await sharedControlPlane();
const network = await FaultProxy.start(plane);
afterAll(async () => await network.close());
const world = await operatorWorld({ plane, operator: false });
const { admin } = world;

it('a balancer that loses its backend keeps no object waiting until its watch counts as silent', async () => {
  const options = { name: world.name('balanced') };
  const operator = await RunningOperator.start(network.access, world.guard, options);
  await untilLeading(operator);
  await admin.untilReady(await admin.createKey());

  network.loseBackend();

  // Silence alone would be noticed after 130 s.
  await admin.untilReady(await admin.createKey(), { timeoutMs: 100_000 });
  const log = await operator.log();
  expect(log).toContain('it was silent while a request to the same server got no answer');
  expect(log).not.toContain('leadership lost');
  expect(await operator.end()).toBe(0);
});
