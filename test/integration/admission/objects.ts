import { randomBytes } from 'node:crypto';
import { apiVersion } from '../../../src/api/names.ts';
import { credentialResources, ownedAccessKeys, type Resource } from '../../../src/api/resources.ts';
import { collectionPath, objectPath } from '../../../src/kube/resource-path.ts';

/** The kinds that hold a credential. */
export const credentialKinds: readonly Resource[] = Object.values(credentialResources);

/** On every object of these tests, so that they can be cleared away. */
export const testLabel = 'latchkey-admission-test';

export interface TestObject {
  apiVersion: string;
  kind: string;
  metadata: {
    name: string;
    namespace?: string;
    labels: Record<string, string>;
    annotations?: Record<string, string>;
    finalizers?: string[];
    [field: string]: unknown;
  };
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
}

export const uniqueName = (prefix: string): string => `${prefix}-${randomBytes(4).toString('hex')}`;

/**
 * An object of this kind with a name of its own. Access keys speak for `alice` unless `spec` says otherwise, and those that
 * need a scope get an empty one, unless there is a field `scope`, also if undefined.
 */
export function objectOf(
  resource: Resource,
  spec: Record<string, unknown> = resource === ownedAccessKeys ? { user: 'alice' } : {},
  metadata: Partial<TestObject['metadata']> = {},
): TestObject {
  return {
    apiVersion,
    kind: resource.kind,
    metadata: {
      name: uniqueName('admission'),
      ...(resource.namespaced ? { namespace: 'default' } : {}),
      ...metadata,
      labels: { [testLabel]: 'true', ...metadata.labels },
    },
    spec: needsScope(spec) ? { scope: {}, ...spec } : spec,
  };
}

/**
 * The same, as those make it who may not get it: an access key has the hash of a key, unless there is a field `key` or
 * `secretRef`, also if undefined.
 */
export function unreadObjectOf(resource: Resource, ...parts: ObjectParts): TestObject {
  const object = objectOf(resource, ...parts);
  const { spec = {} } = object;
  const isComplete = resource !== ownedAccessKeys || 'key' in spec || 'secretRef' in spec;
  return isComplete ? object : { ...object, spec: { ...spec, key: hashOfOwnKey() } };
}

type ObjectParts = [spec?: Record<string, unknown>, metadata?: Partial<TestObject['metadata']>];

/** As `spec.key` takes it from those who keep the key to themselves. */
export const hashOfOwnKey = (): string => `sha256:${randomBytes(32).toString('hex')}`;

const needsScope = ({ team, subject, groups }: Record<string, unknown>): boolean =>
  [team ?? '', subject ?? ''].join('') !== '' || (Array.isArray(groups) && groups.length > 0);

/** Path of the object, or of the collection; namespaced ones in `default`. */
export function pathOf(resource: Resource, name?: string, subresource?: string): string {
  const namespace = resource.namespaced ? { namespace: 'default' } : {};
  return name === undefined
    ? collectionPath(resource, namespace.namespace)
    : objectPath(resource, { ...namespace, name }, subresource);
}
