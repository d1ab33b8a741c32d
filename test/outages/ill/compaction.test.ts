import { afterAll, expect, it } from 'vitest';
import { compactEtcd } from '../../../lab/operator/etcd.ts';
import { startInstalled } from '../../../lab/operator/installed-plane.ts';
import { RunningOperator } from '../../../lab/operator/running-operator.ts';
import { metricOf } from '../../../lab/operator/telemetry.ts';
import { until } from '../../../lab/operator/until.ts';
import { operatorWorld, untilLeading } from '../../../lab/operator/world.ts';
import { WriteGate } from '../../../lab/operator/write-gate.ts';
import { ownedAccessKeys } from '../../../src/api/resources.ts';
import { systemClock as clock } from '../../../src/kube/clock.ts';
import { collectionPath } from '../../../src/kube/resource-path.ts';

// Of its own: its API server goes away.
const plane = await startInstalled({ name: 'compaction' });
const gate = await WriteGate.start(plane);
afterAll(async () => {
  await gate.close();
  await plane.stop();
});
const world = await operatorWorld({ plane, operator: false, clear: false });
const { admin } = world;

const versionOfKeys = async () =>
  (await admin.client.list(ownedAccessKeys, { limit: 1 })).metadata.resourceVersion;

/** The code of the ERROR event, or of the refusal, with which a watch from that version begins. */
async function codeOfWatchFrom(resourceVersion: string): Promise<unknown> {
  const query = new URLSearchParams({ watch: 'true', resourceVersion, timeoutSeconds: '1' });
  const options = { clock, signal: AbortSignal.timeout(20_000), idleMs: 20_000, maxLineBytes: 2 ** 20 };
  try {
    for await (const { type, object } of admin.client.watch(collectionPath(ownedAccessKeys), query, options))
      return type === 'ERROR' ? (object as { code?: number }).code : type;
    return 'nothing';
  } catch (error) {
    return (error as { status?: number }).status;
  }
}

it('what happened while the versions in between were compacted away is known after a new list', async () => {
  const options = { name: world.name('compacted') };
  const operator = await RunningOperator.start(gate.access, world.guard, options);
  await untilLeading(operator);
  const [gone, disabled] = await Promise.all(
    [1, 2].map(async () => await admin.untilReady(await admin.createKey())),
  );
  const before = await versionOfKeys();
  const restarts = 'latchkey_reflector_restarts_total{resource="ownedaccesskeys"}';
  const restartsBefore = await metricOf(operator, restarts);

  gate.shut();
  const made = await admin.createKey();
  await admin.patch(disabled!, { spec: { disabled: true } });
  await admin.patch(gone!, { metadata: { finalizers: null } });
  await admin.delete(gone!);
  await compactEtcd(plane);
  // Until now it has remembered events of its own.
  await plane.stopApiServer();
  await plane.startApiServer();
  // Before its caches are full it answers 429.
  const code = await until('it answers watches', async () => {
    const found = await codeOfWatchFrom(before);
    return found === 429 ? undefined : found;
  });
  expect(code).toBe(410);
  gate.open();

  await admin.untilReady(made);
  await admin.until(disabled!, 'it is known to be disabled', ({ status }) => status.active === false);
  const stored = (await admin.client.list(ownedAccessKeys)).items.length;
  const known = 'latchkey_reflector_objects{resource="ownedaccesskeys"}';
  await until('the deleted key is forgotten', async () => (await metricOf(operator, known)) === stored);
  expect(await metricOf(operator, restarts)).toBeGreaterThan(restartsBefore);
  expect(await operator.end()).toBe(0);
});
