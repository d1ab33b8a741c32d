import { afterAll, expect, it } from 'vitest';
import { sharedControlPlane } from '../../../lab/controlplane/shared.ts';
import { accountKubeconfig } from '../../../lab/operator/running-operator.ts';
import { until } from '../../../lab/operator/until.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { WriteGate } from '../../../lab/operator/write-gate.ts';
import { ownedAccessKeys } from '../../../src/api/resources.ts';
import { Reflector } from '../../../src/kube/cache/reflector.ts';
import { Store, type StoredRecord } from '../../../src/kube/cache/store.ts';
import { createKubeClient } from '../../../src/kube/client/client.ts';
import { kubeConfigSource } from '../../../src/kube/client/kube-config.ts';
import { systemClock } from '../../../src/kube/clock.ts';
import { keyOf } from '../../../src/kube/object.ts';
import { silentLogger } from '../../../src/logger.ts';

const plane = await sharedControlPlane();
const gate = await WriteGate.start(plane);
afterAll(async () => await gate.close());
const { admin } = await operatorWorld({ plane, operator: false });

/** The operator waits for more than two minutes, as bookmarks come every one or two. */
const idleMs = 4_000;
const client = createKubeClient({
  kubeConfig: kubeConfigSource({ file: await accountKubeconfig(gate.access, 'latchkey-operator') }),
  userAgent: 'test',
});
const store = new Store<StoredRecord>();
const reflector = new Reflector<StoredRecord>({
  ...{ client, store, idleMs, resource: ownedAccessKeys, backOffMs: [100, 1_000] },
  ...{ clock: systemClock, random: Math.random, log: silentLogger },
  toRecord: ({ metadata }) => ({
    key: keyOf(metadata),
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
  }),
});
const stop = new AbortController();
afterAll(async () => {
  stop.abort();
  await client.close();
});
void reflector.run(stop.signal);
await reflector.synced(stop.signal);

const isQuestion = (request: string) => request.includes('nothing');
const requests = (wanted: (request: string) => boolean) => gate.requests.filter(wanted).length;
const streams = () => requests((request) => request.includes('sendInitialEvents') && !isQuestion(request));
const pages = () => requests((request) => request.includes('limit='));
const isCurrent = async () => reflector.outage(0) === undefined && reflector.freshness() < idleMs;

it('watches on which nothing happens are asked about, and the API server answers: no outage, and no other list', async () => {
  await until('it has asked three times', async () => requests(isQuestion) >= 3);
  await until('it is current', isCurrent);
  const key = await admin.createKey();
  await until('the watch brings the key', async () => store.get(key.metadata.name) !== undefined);
  expect([streams(), pages()]).toEqual([1, 0]);
});

it('watches that open and bring nothing are named until they bring something, and lists bring the news', async () => {
  gate.freezeWatches();
  const key = await admin.createKey();
  await until('a list brings the key', async () => store.get(key.metadata.name) !== undefined);
  const named = async () => reflector.outage(4 * idleMs);
  expect(await until('the outage is named', named)).toMatch(/^for \d+ s \(ERR_KUBE_TIMEOUT\)$/);
  expect(reflector.freshness()).toBeGreaterThan(4 * idleMs);
  expect(pages()).toBeGreaterThan(0);

  gate.thawWatches();
  await until('it is current', isCurrent);
  const next = await admin.createKey();
  await until('a watch brings the next key', async () => store.get(next.metadata.name) !== undefined);
});
