import { Registry } from 'prom-client';
import { beforeEach, expect, it } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { ownedAccessKeys } from '../../api/resources.ts';
import { LatchkeyError } from '../../errors.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { WorkQueue } from '../../kube/queue/work-queue.ts';
import type { WorkResult } from '../../kube/queue/workers.ts';
import { silentLogger } from '../../logger.ts';
import { ControllerMetrics } from '../../telemetry/metrics/controllers.ts';
import { runController } from './term.ts';

const answered = (status: number, reason: string) =>
  new KubeError({ code: 'ERR_KUBE_STATUS', message: reason, status, reason });

let clock: FakeClock;
let metrics: ControllerMetrics;
let registry: Registry;

beforeEach(() => {
  clock = new FakeClock();
  registry = new Registry();
  metrics = new ControllerMetrics(registry);
});

async function run(queue: WorkQueue, reconcile: () => Promise<WorkResult | undefined>): Promise<void> {
  await runController(
    { name: 'keys', resource: ownedAccessKeys, queue, workers: 1, reconcile },
    { metricsOf: (name) => metrics.for(name), clock, log: silentLogger },
  );
}

/** Outcomes that were met, and how often. */
async function counted(): Promise<readonly string[]> {
  const lines = (await registry.metrics()).matchAll(
    /^latchkey_reconcile_total\{.*outcome="(.*)"\} ([1-9]\d*)$/gm,
  );
  return [...lines].map(([, outcome, times]) => `${outcome} ${times}`);
}

it.each<[string, () => Promise<WorkResult | undefined>]>([
  ['success', async () => undefined],
  ['requeue', async () => ({ requeueAfterMs: 5 })],
  ['conflict', async () => Promise.reject(answered(409, 'Conflict'))],
  ['error', async () => Promise.reject(answered(500, 'InternalError'))],
  ['error', async () => Promise.reject(new LatchkeyError('ERR_ADMISSION_MISSING', { missing: 1 }))],
])('counts as %s what ends so', async (outcome, reconcile) => {
  const queue = new WorkQueue({ clock, random: () => 1 });
  queue.add('a');
  queue.shutDown();
  await run(queue, reconcile);
  expect(await counted()).toEqual([`${outcome} 1`]);
});

it('counts as errors what meets a conflict more than ten times in a row', async () => {
  const queue = new WorkQueue({ clock, random: () => 1 });
  let times = 0;
  const running = run(queue, async () => {
    if (++times <= 12) throw answered(409, 'Conflict');
    return undefined;
  });
  queue.add('a');
  await clock.advanceAsync(60_000, 100);
  queue.shutDown();
  await running;
  expect(await counted()).toEqual(['success 1', 'conflict 10', 'error 2']);
});
