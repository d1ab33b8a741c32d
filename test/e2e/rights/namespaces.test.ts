import { randomBytes } from 'node:crypto';
import { afterAll, expect, it } from 'vitest';
import type { Stored } from '../../../lab/operator/api.ts';
import { operatorWorld } from '../../../lab/operator/world.ts';
import { reasons } from '../../../src/api/reasons.ts';
import { namespaces, virtualClusterInstanceKubeConfigs } from '../../../src/api/resources.ts';
import { generateAccessKey } from '../../../src/credentials/keys/access-key.ts';
import { introduce, type Person } from './people.ts';

const world = await operatorWorld();
const { admin, name } = world;
/** Has no part in the key: only the namespace may let them name it. */
const stranger: Person = await introduce(world, name('stranger'));
const made: string[] = [];
afterAll(async () => {
  for (const namespace of made) await admin.delete({ kind: 'Namespace', metadata: { name: namespace } });
});

async function makeNamespace(namespace: string): Promise<Stored> {
  made.push(namespace);
  const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } };
  return await admin.client.create<Stored>(namespaces, body);
}

async function removeNamespace(namespace: string): Promise<void> {
  const target = { kind: 'Namespace', metadata: { name: namespace } };
  await admin.delete(target);
  await admin.untilGone(target, { timeoutMs: 90_000 });
  made.splice(made.indexOf(namespace), 1);
}

const kubeConfigIn = async (namespace: string, { metadata }: Stored): Promise<Stored> =>
  await stranger.create(virtualClusterInstanceKubeConfigs, { accessKey: metadata.name }, { namespace });

/** As far as a kubeconfig without an instance comes when it may name its parent. */
const allowed = reasons.instanceNotFound;

it('a namespace that was made again is not open until its name was taken out and put back', async () => {
  const namespace = name('p-shop');
  const { metadata } = await makeNamespace(namespace);
  const key = await admin.untilReady(
    await admin.createKey({ user: 'alice', allowedNamespaces: [namespace] }),
  );
  expect(key.status.allowedNamespaces).toEqual([{ name: namespace, uid: metadata.uid }]);
  await admin.untilRefused(await kubeConfigIn(namespace, key), allowed);

  await removeNamespace(namespace);
  const { metadata: again } = await makeNamespace(namespace);
  const refused = await kubeConfigIn(namespace, key);
  await admin.untilRefused(refused, reasons.accessKeyNotAllowed);
  await admin.patch(key, { spec: { description: 'touched' } });
  await admin.until(
    key,
    'seen',
    ({ status, metadata: { generation } }) => status.observedGeneration === generation,
  );
  await admin.untilRefused(await kubeConfigIn(namespace, key), reasons.accessKeyNotAllowed);

  await admin.patch(key, { spec: { allowedNamespaces: [] } });
  await admin.until(key, 'nothing is pinned', ({ status }) => status.allowedNamespaces === undefined);
  await admin.patch(key, { spec: { allowedNamespaces: [namespace] } });
  await admin.until(key, 'pinned again', ({ status }) => status.allowedNamespaces?.[0].uid === again.uid);
  await admin.untilRefused(refused, allowed);
});

it('a namespace that did not exist when it was listed is not open to the one who makes it', async () => {
  const namespace = name('p-later');
  const key = await admin.untilReady(
    await admin.createKey({ user: 'alice', allowedNamespaces: [namespace] }),
  );
  expect(key.status.allowedNamespaces).toEqual([{ name: namespace }]);
  await makeNamespace(namespace);
  await admin.untilRefused(await kubeConfigIn(namespace, key), reasons.accessKeyNotAllowed);
});

it('a key that is refused pins its namespaces at once, and no one opens it by making one before it recovers', async () => {
  const [present, later] = [name('p-present'), name('p-afterwards')];
  const { metadata } = await makeNamespace(present);
  const shared = { user: 'alice', key: generateAccessKey(randomBytes(32)) };
  await admin.untilReady(await admin.createKey(shared));
  const key = await admin.createKey({ ...shared, allowedNamespaces: [present, later] });
  const { status } = await admin.untilRefused(key, reasons.duplicateKey);
  const pins = [{ name: present, uid: metadata.uid }, { name: later }];
  expect(status.allowedNamespaces).toEqual(pins);
  await makeNamespace(later);
  await admin.patch(key, { spec: { key: generateAccessKey(randomBytes(32)) } });
  const recovered = await admin.untilReady(key);
  expect(recovered.status.allowedNamespaces).toEqual(pins);
  await admin.untilRefused(await kubeConfigIn(present, key), allowed);
  await admin.untilRefused(await kubeConfigIn(later, key), reasons.accessKeyNotAllowed);
});
