import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Resource } from '../../src/api/resources.ts';
import type { ControlPlaneAccess } from '../controlplane/access.ts';

const base64 = (plain: string): string => Buffer.from(plain).toString('base64');
const decoded = (encoded: string, as: BufferEncoding = 'utf8'): string =>
  Buffer.from(encoded, 'base64').toString(as);

/**
 * Puts an object into etcd behind the back of the API server: as an object looks that was stored before a rule or a
 * policy existed, or by a hand that should not have been there.
 */
export async function storeInEtcd(
  plane: ControlPlaneAccess,
  resource: Resource,
  object: { readonly metadata: ObjectKey },
): Promise<void> {
  const key = base64(etcdKey(resource, object.metadata));
  await ask(plane, 'kv/put', { key, value: base64(JSON.stringify(object)) });
}

/** Removes one in the same way: an object that its schema cannot be computed for never loses its finalizers otherwise. */
export async function removeFromEtcd(
  plane: ControlPlaneAccess,
  resource: Resource,
  object: { readonly metadata: ObjectKey },
): Promise<void> {
  await ask(plane, 'kv/deleterange', { key: base64(etcdKey(resource, object.metadata)) });
}

interface ObjectKey {
  readonly name: string;
  readonly namespace?: string;
}

function etcdKey({ group, plural }: Resource, { name, namespace }: ObjectKey): string {
  const place = namespace === undefined ? name : `${namespace}/${name}`;
  return `/registry/${group}/${plural}/${place}`;
}

export interface EtcdEntry {
  readonly key: string;
  /** The bytes, one character each. */
  readonly value: string;
}

/** Everything that the API server keeps, as somebody reads it who got hold of a backup of etcd. */
export async function readEtcd(plane: ControlPlaneAccess): Promise<readonly EtcdEntry[]> {
  const entries: EtcdEntry[] = [];
  for (let from = '/registry/'; ; ) {
    const range = { key: base64(from), range_end: base64('/registry0'), limit: pageSize };
    const { kvs = [] } = JSON.parse(await ask(plane, 'kv/range', range)) as { kvs?: readonly EtcdEntry[] };
    for (const { key, value = '' } of kvs)
      entries.push({ key: decoded(key), value: decoded(value, 'latin1') });
    if (kvs.length < pageSize) return entries;
    from = `${entries.at(-1)?.key}\0`;
  }
}

const pageSize = 100;

/** Forgets every earlier version of every object: who watches from one of them is told that it has gone (410). */
export async function compactEtcd(plane: ControlPlaneAccess): Promise<void> {
  const { header } = JSON.parse(await ask(plane, 'kv/range', { key: base64('/registry/') })) as {
    header: { revision: string };
  };
  await ask(plane, 'kv/compaction', { revision: header.revision, physical: true });
}

/** Beside what the API server keeps. */
const filler = { key: base64('/filler/'), range_end: base64('/filler0') };
const fillerValue = base64('x'.repeat(2 ** 20));
const isFull = (error: unknown): true => {
  if (/database space exceeded/.test(String(error))) return true;
  throw error;
};

/** Writes until the quota is reached. From then on etcd takes nothing new, however small, until `freeEtcd`. */
export async function fillEtcd(plane: ControlPlaneAccess): Promise<void> {
  const put = async (name: string) =>
    await ask(plane, 'kv/put', { key: base64(`/filler/${name}`), value: fillerValue });
  for (let count = 0; count < 1_000; count++) {
    const full = await put(String(count)).then(() => false, isFull);
    if (full) return;
  }
  throw new Error('etcd takes a gibibyte: give its control plane a small quota');
}

/** Repairs etcd as an administrator does: makes room, gives it back to the disk, and clears the alarm. */
export async function freeEtcd(plane: ControlPlaneAccess): Promise<void> {
  await ask(plane, 'kv/deleterange', filler);
  await compactEtcd(plane);
  await ask(plane, 'maintenance/defragment', {});
  const { alarms = [] } = JSON.parse(await ask(plane, 'maintenance/alarm', { action: 'GET' })) as {
    alarms?: readonly object[];
  };
  for (const alarm of alarms) await ask(plane, 'maintenance/alarm', { action: 'DEACTIVATE', ...alarm });
}

async function ask(
  plane: ControlPlaneAccess,
  call: `kv/${'put' | 'range' | 'deleterange' | 'compaction'}` | `maintenance/${'alarm' | 'defragment'}`,
  body: object,
): Promise<string> {
  const asking = request({
    socketPath: plane.etcdSocket,
    path: `/v3/${call}`,
    method: 'POST',
    signal: AbortSignal.timeout(10_000),
  });
  asking.end(JSON.stringify(body));
  const [response] = (await once(asking, 'response')) as [IncomingMessage];
  const answer = await text(response);
  if (response.statusCode !== 200)
    throw new Error(`etcd answered ${response.statusCode} to ${call}: ${answer.slice(0, 200)}`);
  return answer;
}
