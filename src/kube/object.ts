import { asObject, asText } from '../api/json.ts';
import type { ObjectMeta } from '../api/object-meta.ts';

export interface KubeObject {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
}

export interface KubeList<T> {
  metadata: { resourceVersion: string; continue?: string };
  items: T[];
}

export interface ObjectKey {
  readonly namespace?: string;
  readonly name: string;
}

/** Resource versions of one resource are decimal numbers that can be compared (KEP-5504); they may exceed a double. */
export function isNewerVersion(version: string, than: string): boolean {
  return version.length === than.length ? version > than : version.length > than.length;
}

/** The newer of two resource versions. */
export const newerVersion = (one: string, other: string): string =>
  isNewerVersion(one, other) ? one : other;

/** Whether it is the very version of the object that something was made of. */
export const isVersion = (
  object: KubeObject | undefined,
  { uid, resourceVersion }: Pick<ObjectMeta, 'uid' | 'resourceVersion'>,
): object is KubeObject =>
  object !== undefined && object.metadata.uid === uid && object.metadata.resourceVersion === resourceVersion;

/** `metadata.uid` of what a server sent, of whatever shape that is. */
export const uidOf = (sent: unknown): string | undefined =>
  asText(asObject(asObject(sent)['metadata'])['uid']);

/** `name`, or `namespace/name`: the key of stores and work queues. */
export function keyOf(object: ObjectKey): string {
  const { namespace, name } = object;
  return namespace === undefined || namespace === '' ? name : `${namespace}/${name}`;
}

/** The opposite of {@link keyOf}. */
export function parseKey(key: string): ObjectKey {
  const slash = key.indexOf('/');
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}
