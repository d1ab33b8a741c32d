import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createAuthority, createServer } from '../../lab/controlplane/certificates.ts';
import { Guard } from '../../lab/controlplane/guard.ts';
import { runBundle } from '../../lab/operator/program.ts';
import { until } from '../../lab/operator/until.ts';
import { configMaps, ownedAccessKeys, type Resource } from '../../src/api/resources.ts';
import { createKubeClient, type KubeClient } from '../../src/kube/client/client.ts';
import { kubeConfigSource } from '../../src/kube/client/kube-config.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { collectionPath, objectPath } from '../../src/kube/resource-path.ts';
import { buildBundle } from '../../tools/bundle/build-bundle.ts';
import type { BenchmarkContext } from '../benchmark.ts';
import { kubectl } from '../world/kubectl.ts';
import { benchUser, type Platform, startPlatform } from '../world/platform.ts';
import { type StoredObject, storeAll } from './etcd.ts';
import { type KeyTimes, namespaces, storedKey, storedKeys } from './stored-keys.ts';

/** Where the gateway and its peers run: a control plane with many access keys, without an operator. */
export interface GatewayPlatform extends Platform {
  readonly admin: KubeClient;
  /** Owns the processes and the folder of what is measured. */
  readonly guard: Guard;
  /** For the peers; the gateway has its own. */
  readonly certificate: CertificateFiles;
  /** Bearer token of an ordinary user with the rights of the holders. */
  readonly userToken: string;
}

export interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
  /** The authority itself, PEM. */
  readonly ca: string;
}

/** The object that most requests ask for: about 700 bytes as an answer. */
export const smallObject = 'small';
/** Objects of each list: many small ones, and fewer large ones, so that the API server does not do most of the work. */
const lists = [
  { namespace: namespaces.shortList, count: 50, bytes: 1_600 },
  { namespace: namespaces.longList, count: 50, bytes: 100_000 },
] as const;

/** For 100,000 keys on a machine that does something else meanwhile. */
const knownMs = 300_000;

/** Does `work` on a control plane with `--keys` access keys. etcd does not wait for the disk: no write is measured. */
export async function withGatewayPlatform<Result>(
  { options, progress }: BenchmarkContext,
  work: (platform: GatewayPlatform) => Promise<Result>,
): Promise<Result> {
  const guard = await Guard.start('bench-gateway');
  progress('starting a control plane');
  const platform = await startPlatform({ fsync: false, users: [{ user: benchUser }] });
  const kubeConfig = kubeConfigSource({ file: platform.plane.adminKubeconfig });
  const admin = createKubeClient({ kubeConfig, userAgent: 'latchkey-bench', timeoutMs: 60_000 });
  try {
    const bundle = path.join(guard.folder, 'latchkey.mjs');
    await buildBundle(bundle);
    runBundle(bundle);
    const certificate = await writeCertificate(guard.folder);
    const userToken = platform.plane.tokenOf(benchUser);
    const world = { ...platform, admin, guard, certificate, userToken };
    await createObjects(world);
    progress(`storing ${options.keys} access keys`);
    await storeKeys(world, options.keys, { now: Date.now() });
    return await work(world);
  } finally {
    await admin.close();
    await guard.stop();
    await platform.stop();
  }
}

/** Puts the first `count` keys into etcd, and waits until the API server knows them. Those that are there are replaced. */
export async function storeKeys(
  platform: Pick<GatewayPlatform, 'plane' | 'admin'>,
  count: number,
  times: KeyTimes,
): Promise<void> {
  if (count === 0) return;
  const last = storedKey(count - 1, times);
  await storeAndWait(platform, ownedAccessKeys, { objects: storedKeys(0, count, times), last });
}

interface Stored {
  readonly objects: Iterator<StoredObject>;
  /** The last one of them. */
  readonly last: StoredObject;
}

/**
 * Puts objects into etcd, and waits until the API server knows them. It answers a list from its cache only when that has all, and takes
 * minutes for 100,000: a gateway that starts meanwhile is not ready.
 */
export async function storeAndWait(
  { plane, admin }: Pick<GatewayPlatform, 'plane' | 'admin'>,
  resource: Resource,
  { objects, last }: Stored,
): Promise<void> {
  await storeAll(plane, resource, objects);
  // Once more by itself: several transactions are under way at the same time, and the API server follows in their order.
  await storeAll(plane, resource, [last].values());
  const path = objectPath(resource, { name: last.metadata.name });
  const versionFrom = async (query: Readonly<Record<string, string>>): Promise<string> => {
    const options = { query: new URLSearchParams(query) };
    return (await admin.request<KubeObject>('GET', path, options)).metadata.resourceVersion;
  };
  // Version 0 asks the cache of the API server, which follows etcd by a watch. No version asks etcd.
  const known = async () => (await versionFrom({ resourceVersion: '0' })) === (await versionFrom({}));
  await until('the API server knows all objects', known, { timeoutMs: knownMs, everyMs: 200 });
  // While it reads everything from etcd once more it asks etcd for a GET, and refuses watches: a gateway would wait for them.
  const watched = `${collectionPath(resource)}?watch=true&timeoutSeconds=1&resourceVersion=${await versionFrom({})}`;
  const takesWatches = async () =>
    await kubectl(plane, ['get', '--raw', watched]).then(
      () => true,
      () => false,
    );
  await until('the API server takes watches', takesWatches, { timeoutMs: knownMs, everyMs: 500 });
}

async function writeCertificate(folder: string): Promise<CertificateFiles> {
  const authority = createAuthority('bench-ca');
  const server = createServer(authority, ['localhost']);
  const [cert, key] = [path.join(folder, 'peers.crt'), path.join(folder, 'peers.key')];
  await writeFile(cert, server.certificate);
  await writeFile(key, server.key, { mode: 0o600 });
  return { cert, key, ca: authority.certificate };
}

/** Creates the requested objects, the right of everyone to read them, and that of the ordinary user to change the small object. */
async function createObjects({ plane, admin }: Pick<GatewayPlatform, 'plane' | 'admin'>): Promise<void> {
  const binding = ['create', 'clusterrolebinding', 'bench-readers'];
  await kubectl(plane, [...binding, '--clusterrole=view', '--group=system:authenticated']);
  for (const namespace of Object.values(namespaces)) await kubectl(plane, ['create', 'namespace', namespace]);
  const writer = ['create', 'rolebinding', 'bench-writer', '--namespace', namespaces.small];
  await kubectl(plane, [...writer, '--clusterrole=edit', `--user=${benchUser}`]);
  await createConfigMap(admin, { namespace: namespaces.small, name: smallObject, bytes: 330 });
  for (const { namespace, count, bytes } of lists) {
    for (let index = 0; index < count; index++)
      await createConfigMap(admin, { namespace, name: `object-${index}`, bytes });
  }
}

async function createConfigMap(
  admin: KubeClient,
  { namespace, name, bytes }: { namespace: string; name: string; bytes: number },
): Promise<void> {
  const manifest = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace } };
  const data = { text: 'lorem ipsum '.repeat(bytes / 12) };
  await admin.create(configMaps, { ...manifest, data }, { namespace });
}
