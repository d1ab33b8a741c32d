import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import type { Resource } from '../../src/api/resources.ts';
import type { ControlPlaneAccess } from '../controlplane/access.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/**
 * Puts an object into etcd behind the back of the API server: as an object looks that was stored before a rule or a
 * policy existed, or by a hand that should not have been there.
 */
export async function storeInEtcd(
  plane: ControlPlaneAccess,
  { group, plural }: Resource,
  object: { readonly metadata: { readonly name: string; readonly namespace?: string } },
): Promise<void> {
  const { name, namespace } = object.metadata;
  const place = namespace === undefined ? name : `${namespace}/${name}`;
  const key = `/registry/${group}/${plural}/${place}`;
  const put = request({
    socketPath: plane.etcdSocket,
    path: '/v3/kv/put',
    method: 'POST',
    signal: AbortSignal.timeout(10_000),
  });
  put.end(JSON.stringify({ key: base64(key), value: base64(JSON.stringify(object)) }));
  const [response] = (await once(put, 'response')) as [IncomingMessage];
  response.resume();
  if (response.statusCode !== 200) throw new Error(`etcd answered ${response.statusCode} to a put`);
}
