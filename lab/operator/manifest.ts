import { randomBytes } from 'node:crypto';
import { apiVersion } from '../../src/api/names.ts';
import type { OwnerReference } from '../../src/api/object-meta.ts';
import { ownedAccessKeys, type Resource } from '../../src/api/resources.ts';

export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: {
    name: string;
    namespace?: string;
    resourceVersion?: string;
    annotations?: Record<string, string>;
    finalizers?: string[];
    ownerReferences?: readonly OwnerReference[];
  };
  spec?: unknown;
  status?: unknown;
}

/**
 * Builds what a person would apply: an object with a name of its own, in `default` where the kind has namespaces. An access key
 * speaks for `alice` unless `spec` is given. `spec` is sent as it is, wrong types included.
 */
export function manifestOf(
  resource: Resource,
  spec: unknown = resource === ownedAccessKeys ? { user: 'alice' } : {},
  metadata: Partial<Manifest['metadata']> = {},
): Manifest {
  return {
    apiVersion,
    kind: resource.kind,
    metadata: {
      name: uniqueName(),
      ...(resource.namespaced ? { namespace: 'default' } : {}),
      ...metadata,
    },
    spec,
  };
}

export const uniqueName = (prefix = 'manifest'): string => `${prefix}-${randomBytes(5).toString('hex')}`;
