import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { ownedAccessKeys } from '../../api/resources.ts';
import { LatchkeyError } from '../../errors.ts';
import { FakeClock } from '../../kube/fake-clock.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { WorkQueue } from '../../kube/queue/work-queue.ts';
import type { WorkResult } from '../../kube/queue/workers.ts';
import { silentLogger } from '../../logger.ts';
import { ControllerMetrics } from '../../telemetry/metrics/controllers.ts';
import { runController } from './run-controller.ts';

const answered = (status: number, reason: string) =>
  new KubeError({ code: 'ERR_KUBE_STATUS', message: reason, status, reason });

it.each<[string, () => Promise<WorkResult | undefined>]>([
  ['success', async () => undefined],
  ['requeue', async () => ({ requeueAfterMs: 5 })],
  ['conflict', async () => Promise.reject(answered(409, 'Conflict'))],
  ['error', async () => Promise.reject(answered(500, 'InternalError'))],
  ['error', async () => Promise.reject(new LatchkeyError('ERR_ADMISSION_MISSING', { missing: 1 }))],
])('counts as %s what ends so', async (outcome, reconcile) => {
  const clock = new FakeClock();
  const registry = new Registry();
  const queue = new WorkQueue({ clock, random: () => 1 });
  queue.add('a');
  queue.shutDown();
  const metrics = new ControllerMetrics(registry);
  await runController(
    { name: 'keys', resource: ownedAccessKeys, queue, workers: 1, reconcile },
    { metricsOf: (name) => metrics.for(name), clock, log: silentLogger },
  );
  const lines = (await registry.metrics()).split('\n');
  const counted = lines.filter((line) => /^latchkey_reconcile_total\{.*\} [1-9]/.test(line));
  expect(counted).toEqual([`latchkey_reconcile_total{controller="keys",outcome="${outcome}"} 1`]);
});
