import type { Resource } from '../../api/resources.ts';
import { isObject } from '../json-object.ts';

/** Of a list: the most objects that may come. */
export interface ListBounds {
  readonly limit: number | undefined;
}

/**
 * Whether an answer of an API server that others chose has the metadata of an object of the resource, each entry of
 * its type. Names are such as can stand in a path: they become those of further requests.
 */
export function isUntrustedObject(value: unknown, { namespaced }: Resource): boolean {
  const metadata = isObject(value) ? value['metadata'] : undefined;
  if (!isObject(metadata) || !isPlainName(metadata['name'])) return false;
  const { namespace } = metadata;
  if (namespaced ? !isPlainName(namespace) : !(namespace === undefined || namespace === '')) return false;
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
    [next, resourceVersion].every((text) => text === undefined || isShortText(text)) &&
    Array.isArray(items) &&
    items.length <= (limit ?? Number.POSITIVE_INFINITY) &&
    items.every((item) => isUntrustedObject(item, resource))
  );
}

/** Roles may hold colons and blanks in their names; no object has what ends a segment, or a character that is none. */
function isPlainName(value: unknown): boolean {
  return typeof value === 'string' && value.isWellFormed() && /^(?!\.{1,2}$)[^/%\p{Cc}]{1,253}$/u.test(value);
}

/** UIDs, versions and page markers go back to the server, in the query too. */
const longestText = 8_192;
const isShortText = (value: unknown): boolean => typeof value === 'string' && value.length <= longestText;

const isText = (value: unknown): boolean => typeof value === 'string';
const isTextMap = (value: unknown): boolean => isObject(value) && Object.values(value).every(isText);
const isListOf =
  (isOfType: (value: unknown) => boolean) =>
  (value: unknown): boolean =>
    Array.isArray(value) && value.every(isOfType);

/** Go sends an absent time as null. */
const isTime = (value: unknown): boolean => value === null || isShortText(value);

const metadataTypes: Readonly<Record<string, (value: unknown) => boolean>> = {
  uid: isShortText,
  resourceVersion: isShortText,
  generateName: isShortText,
  generation: Number.isFinite,
  creationTimestamp: isTime,
  deletionTimestamp: isTime,
  finalizers: isListOf(isText),
  ownerReferences: isListOf(isObject),
  labels: isTextMap,
  annotations: isTextMap,
};
