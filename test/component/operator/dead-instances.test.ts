import { afterEach, beforeEach, expect, it } from 'vitest';
import { finalizers } from '../../../src/api/names.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { Store } from '../../../src/kube/cache/store.ts';
import { WorkQueue } from '../../../src/kube/queue/work-queue.ts';
import { runWorkers } from '../../../src/kube/queue/workers.ts';
import { sleep } from '../../../src/kube/sleep.ts';
import { silentLogger } from '../../../src/logger.ts';
import { createTargetControllers } from '../../../src/operator/assembly/create-target-controllers.ts';
import type { OperatorContext } from '../../../src/operator/assembly/operator-context.ts';
import { limitDialling } from '../../../src/operator/assembly/queues.ts';
import { CredentialStores } from '../../../src/operator/credentials/credential-stores.ts';
import type { TargetSource } from '../../../src/platform/targets/target-clients.ts';
import { toInstanceRecord } from '../../../src/platform/targets/target-record.ts';
import { TargetStores } from '../../../src/platform/targets/target-stores.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { MemoryApi } from './memory-api.ts';

const plural = 'virtualclusterinstances';
/** How long a virtual cluster keeps a worker that does not answer. */
const silenceMs = 10_000;
const problem = { reason: reasons.targetUnreachable, message: 'No answer.' };

let clock: FakeClock;
let api: MemoryApi;
let queue: WorkQueue;
let targets: TargetStores;
/** UIDs of instances, in the order in which they were dialled. */
let dialled: string[];
let running: Promise<void>;

beforeEach(() => {
  clock = new FakeClock();
  api = new MemoryApi(
    () => clock.now(),
    () => 'works',
  );
  targets = new TargetStores(clock);
  dialled = [];
  const stores = new CredentialStores(clock);
  const random = () => 0.5;
  const limits = limitDialling({
    ...{ stores, revocations: new Store(), clock, limitMs: 60_000 },
    workingSince: () => 0,
  });
  queue = new WorkQueue({ clock, random, ...limits.virtualclusterinstances });
  const open = async ({ uid, secret }: TargetSource) => {
    dialled.push(uid);
    if (secret.namespace === 'p-dead') await sleep(clock, silenceMs);
    return { problem };
  };
  const [controller] = createTargetControllers({
    ...{ client: api.client, clock, random, targets, stores },
    ...{ assertAdmission: () => undefined, trustedSince: () => 0 },
    unguardedTargets: { has: () => false, judged: async () => undefined },
    workingSince: () => 0,
    targetClients: { open, forget: () => undefined },
    queues: { virtualclusterinstances: queue },
    settings: { finalizerLimitMs: 60_000, targetRecheckMs: 60_000 },
    events: { publish: () => undefined },
  } as unknown as OperatorContext);
  if (controller === undefined) throw new Error('there is a controller of instances');
  const { workers, reconcile: work } = controller;
  running = runWorkers({ queue, workers, work, clock, log: silentLogger });
});

afterEach(async () => {
  queue.shutDown({ discard: true });
  await clock.advanceAsync(silenceMs, 1_000);
  await running;
});

function create(namespace: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => {
    const name = `vc-${index}`;
    const metadata = { namespace, name, finalizers: [finalizers.VirtualClusterInstance] };
    const secretRef = { namespace, name: `vc-${name}`, key: 'config' };
    const stored = api.create(plural, { metadata, spec: {}, status: { confirmed: { secretRef } } } as never);
    targets.instances.upsert(toInstanceRecord(stored));
    queue.add(`${namespace}/${name}`, 'changed');
    return stored.metadata.uid;
  });
}

/** UIDs of instances that have a verdict, in the order in which they got it. */
const judged = (): readonly string[] => [
  ...new Set(
    api.changes
      .filter(({ object }) => object.status?.['conditions'] !== undefined)
      .map(({ object }) => object.metadata.uid),
  ),
];

it('90 dead instances beside each other all hear their first verdict in the order of arrival', async () => {
  const dead = create('p-dead', 90);
  // Twelve of a project at a time. What has failed comes again a second later, and goes behind the others.
  await clock.settle();
  await clock.advanceAsync(Math.ceil(90 / 12) * silenceMs + 1_000, 500);
  expect(judged()).toEqual(dead);
  expect(dialled.slice(0, 90)).toEqual(dead);
});

it('those of another project do not wait for them', async () => {
  create('p-dead', 90);
  await clock.settle();
  const others = create('p-other', 20);
  await clock.settle();
  await expect.poll(() => judged()).toEqual(others);
  expect(clock.monotonic()).toBe(0);
});
