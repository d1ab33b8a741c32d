import { createHash } from 'node:crypto';
import { directClusterEndpointTokens, ownedAccessKeys, type Resource } from '../../src/api/resources.ts';
import type { KubeClient } from '../../src/kube/client/client.ts';
import { plainObjects } from './plain-kind.ts';

/** One sort of object that the benchmarks create. */
export interface Template {
  readonly resource: Resource;
  readonly spec: (name: string) => object;
}

const scope = { clusters: [{ cluster: 'east' }, { cluster: 'west' }] };

export const templates = {
  /** The operator makes the key and writes it to the spec: two writes. */
  generatedKey: { resource: ownedAccessKeys, spec: () => ({ displayName: 'Benchmark', scope }) },
  /** The manifest brings the hash of a key: one write. */
  hashedKey: {
    resource: ownedAccessKeys,
    spec: (name: string) => ({
      displayName: 'Benchmark',
      scope,
      key: `sha256:${createHash('sha256').update(name).digest('hex')}`,
    }),
  },
  /** A token for the requester: a signature and one write. */
  token: { resource: directClusterEndpointTokens, spec: () => ({ scope }) },
  /** No controller watches it. Needs `installPlainKind`. */
  plain: { resource: plainObjects, spec: () => ({ displayName: 'Benchmark' }) },
} as const satisfies Record<string, Template>;

export async function createOne(
  client: KubeClient,
  { resource, spec }: Template,
  name: string,
): Promise<void> {
  const apiVersion = `${resource.group}/${resource.version}`;
  await client.create(resource, { apiVersion, kind: resource.kind, metadata: { name }, spec: spec(name) });
}

export const nameOf = (prefix: string, index: number): string =>
  `${prefix}-${String(index).padStart(6, '0')}`;

/** Creates that many objects, names from `nameOf`, sixteen at a time. */
export function createMany(
  client: KubeClient,
  template: Template,
  prefix: string,
  count: number,
): Promise<void> {
  return makeMany(prefix, count, (name) => createOne(client, template, name));
}

/** Makes one thing for each name, sixteen at a time. */
export async function makeMany(
  prefix: string,
  count: number,
  make: (name: string) => Promise<void>,
): Promise<void> {
  let next = 0;
  const workers = Array.from({ length: 16 }, async () => {
    while (next < count) await make(nameOf(prefix, next++));
  });
  await Promise.all(workers);
}
