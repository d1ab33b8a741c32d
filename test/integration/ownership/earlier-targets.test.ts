import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ControlPlane, startControlPlane } from '../../../lab/controlplane/control-plane.ts';
import {
  clusters,
  type Resource,
  spaceInstances,
  virtualClusterInstances,
} from '../../../src/api/resources.ts';
import { adminClient, contentTypes } from '../admission/api-client.ts';
import { looseDefinitions } from '../admission/loose-definitions.ts';
import { objectOf, pathOf, type TestObject } from '../admission/objects.ts';
import { admissionWorld, strip, type World } from '../admission/world.ts';

const kinds = [virtualClusterInstances, clusters, spaceInstances] as const;

/** Shapes that no schema of ours lets in, and metadata that costs an expression dearly. */
const stored: [string, { spec?: unknown; metadata?: object }][] = [
  ['no spec', {}],
  ['a text as spec', { spec: 'other' }],
  ['a number as spec', { spec: 5 }],
  ['a list as spec', { spec: [{ kubeConfigSecretRef: { name: 'other' } }] }],
  ['a text as reference', { spec: { kubeConfigSecretRef: 'other', clusterRef: 'east' } }],
  [
    'a number as name',
    { spec: { kubeConfigSecretRef: { namespace: 5, name: 5 }, clusterRef: { cluster: 5 } } },
  ],
  ['a map as name', { spec: { kubeConfigSecretRef: { name: {} }, clusterRef: { virtualCluster: {} } } }],
  ['a reference without a name', { spec: { kubeConfigSecretRef: { namespace: 'latchkey-system' } } }],
  [
    'very many finalizers',
    { metadata: { finalizers: Array.from({ length: 2000 }, (_, i) => `a.com/f${i}`) } },
  ],
];

/** What a user without any right on Secrets and Clusters would lead them to. */
const elsewhere: Record<string, object> = {
  VirtualClusterInstance: { kubeConfigSecretRef: { name: 'somebodys' } },
  Cluster: { kubeConfigSecretRef: { namespace: 'default', name: 'somebodys' } },
  SpaceInstance: { clusterRef: { cluster: 'east', namespace: 'somebodys' } },
};

describe('targets that were stored before the policies', async () => {
  let plane: ControlPlane;
  let world: World;
  const objects = new Map<string, TestObject>();
  const rows = kinds.flatMap((resource) => stored.map(([name]) => ({ kind: resource.kind, name, resource })));
  const pathTo = ({ kind, name, resource }: (typeof rows)[number]): string =>
    pathOf(resource as Resource, objectFor({ kind, name }).metadata.name);
  const objectFor = ({ kind, name }: { kind: string; name: string }): TestObject => {
    const found = objects.get(`${kind} ${name}`);
    if (found === undefined) throw new Error(`${kind} with ${name} was not stored`);
    return found;
  };

  beforeAll(async () => {
    plane = await startControlPlane({ name: 'earlier-targets' });
    await looseDefinitions(plane, kinds);
    const admin = await adminClient(plane);
    for (const resource of kinds) {
      for (const [name, { spec, metadata }] of stored) {
        const { spec: _, ...bare } = objectOf(resource, {}, metadata);
        const body = { ...bare, ...(spec !== undefined && { spec }) } as TestObject;
        expect((await admin.send('POST', pathOf(resource), { body })).status).toBe(201);
        objects.set(`${resource.kind} ${name}`, body);
      }
    }
    await admin.close();
    world = await admissionWorld(plane);
  });
  afterAll(async () => await plane.stop());

  it.each(rows)('are led nowhere else without the right to it: $kind with $name', async (row) => {
    const body = { spec: elsewhere[row.kind] };
    const answer = await world.bob.send('PATCH', pathTo(row), {
      body: [{ op: 'add', path: '/spec', value: body.spec }],
      contentType: contentTypes.jsonPatch,
    });
    expect([403, 422]).toContain(answer.status);
    expect(answer.body.message).not.toMatch(/resulted in error|failed due to/);
  });

  it.each(rows)('get through the policies when they are changed otherwise: $kind with $name', async (row) => {
    const answer = await world.bob.send('PATCH', pathTo(row), {
      body: { metadata: { labels: { touched: 'true' } } },
      contentType: contentTypes.mergePatch,
    });
    expect([200, 422]).toContain(answer.status);
    expect(answer.body.message ?? '').not.toMatch(/denied request|resulted in error/);
  });

  it.each(rows)('can be deleted and stripped by hand: $kind with $name', async (row) => {
    expect((await world.bob.send('DELETE', pathTo(row))).status).toBe(200);
    expect([200, 404]).toContain((await strip(world.bob, objectFor(row))).status);
    expect((await world.admin.send('GET', pathTo(row))).status).toBe(404);
  });
});
