import type { Resource } from '../api/resources.ts';
import type { ObjectKey } from './object.ts';

/** The path of all objects of a resource, in one namespace or in all. */
export function collectionPath(resource: Resource, namespace?: string): string {
  const root =
    resource.group === '' ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`;
  if (namespace === undefined || namespace === '') return `${root}/${resource.plural}`;
  if (!resource.namespaced)
    throw new TypeError(`${resource.plural} are not namespaced: leave out the namespace`);
  return `${root}/namespaces/${segment(namespace, 'namespace')}/${resource.plural}`;
}

/** The path of one object or of its subresource. */
export function objectPath(resource: Resource, key: ObjectKey, subresource?: string): string {
  if (resource.namespaced && !key.namespace) throw new TypeError(`${resource.plural} need a namespace`);
  const path = `${collectionPath(resource, key.namespace)}/${segment(key.name, 'name')}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

/**
 * Names that API servers take for an object of any kind (`ValidatePathSegmentName`), and nothing narrower: roles and
 * their bindings have names of any length and with any character. JSON that comes from Go has no half of a surrogate pair.
 */
export function isSegment(value: unknown): value is string {
  return typeof value === 'string' && !/^$|^\.\.?$|[/%]/.test(value) && value.isWellFormed();
}

/** An empty name would make a DELETE one of the whole collection. The value may be a target's: it is not repeated. */
function segment(value: string, what: string): string {
  if (!isSegment(value)) throw new TypeError(`a ${what} in a path must be a plain name`);
  return encodeURIComponent(value);
}
