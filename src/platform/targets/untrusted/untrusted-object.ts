import { isObject } from '../../../api/json.ts';
import type { Resource } from '../../../api/resources.ts';
import type { ListBounds } from '../../../kube/client/answer-guard.ts';
import { isSegment } from '../../../kube/resource-path.ts';

/**
 * Whether an answer of an API server that others chose has the metadata of an object of the resource, each entry of
 * its type. This is the only place that judges names of theirs, and by nothing but {@link isSegment}: an object that is
 * refused here cannot be deleted either, and what it grants stays in force.
 */
export function isUntrustedObject(value: unknown, { namespaced }: Resource): boolean {
  const metadata = isObject(value) ? value['metadata'] : undefined;
  if (!isObject(metadata) || !isSegment(metadata['name'])) return false;
  const { namespace } = metadata;
  if (namespaced ? !isSegment(namespace) : !(namespace === undefined || namespace === '')) return false;
  return Object.entries(metadataTypes).every(
    ([name, isOfType]) => metadata[name] === undefined || isOfType(metadata[name]),
  );
}

/** A server that overlooks the limit would decide how much of its list is held at once. */
export function isUntrustedList(value: unknown, resource: Resource, { limit }: ListBounds): boolean {
  const { metadata, items } = isObject(value) ? value : {};
  if (!isObject(metadata)) return false;
  const { continue: next, resourceVersion } = metadata;
  return (
    [next, resourceVersion].every((text) => text === undefined || isText(text)) &&
    Array.isArray(items) &&
    items.length <= (limit ?? Number.POSITIVE_INFINITY) &&
    items.every((item) => isUntrustedObject(item, resource))
  );
}

/**
 * Never judged by its length: what a server's users may choose at will would let them hide an object behind it. The
 * client bounds answers as a whole.
 */
const isText = (value: unknown): boolean => typeof value === 'string';
const isTextMap = (value: unknown): boolean => isObject(value) && Object.values(value).every(isText);
const isListOf =
  (isOfType: (value: unknown) => boolean) =>
  (value: unknown): boolean =>
    Array.isArray(value) && value.every(isOfType);

/** Go sends an absent time as null. */
const isTime = (value: unknown): boolean => value === null || isText(value);

const metadataTypes: Readonly<Record<string, (value: unknown) => boolean>> = {
  uid: isText,
  resourceVersion: isText,
  generateName: isText,
  generation: Number.isFinite,
  creationTimestamp: isTime,
  deletionTimestamp: isTime,
  finalizers: isListOf(isText),
  ownerReferences: isListOf(isObject),
  labels: isTextMap,
  annotations: isTextMap,
};
