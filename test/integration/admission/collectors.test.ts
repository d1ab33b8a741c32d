import { describe, expect, it, vi } from 'vitest';
import { group } from '../../../src/api/names.ts';
import {
  directClusterEndpointTokens,
  namespaces,
  ownedAccessKeys,
  type Resource,
  virtualClusterInstanceKubeConfigs,
} from '../../../src/api/resources.ts';
import { contentTypes } from './api-client.ts';
import { objectOf, pathOf, type TestObject, uniqueName } from './objects.ts';
import { admissionWorld, create, expectOk } from './world.ts';

const kubeConfigs = virtualClusterInstanceKubeConfigs;

/** The real controller manager runs here: what it may not do, it would try for ever. */
describe.concurrent('the garbage collector and the namespace controller', { timeout: 900_000 }, async () => {
  const world = await admissionWorld();
  const ownedBy = ({ apiVersion, kind, metadata }: TestObject): object[] => [
    { apiVersion, kind, name: metadata.name, uid: metadata['uid'], blockOwnerDeletion: true },
  ];
  const stored = async (
    object: TestObject,
    resource: Resource = ownedAccessKeys,
  ): Promise<TestObject | undefined> => {
    const answer = await world.admin.send('GET', pathOf(resource, object.metadata.name));
    return answer.status === 404 ? undefined : answer.body;
  };
  /** Takes our finalizer off, as the operator does, and waits until the object is gone. */
  const release = async (object: TestObject, resource: Resource = ownedAccessKeys): Promise<void> =>
    await vi.waitFor(async () => {
      const { finalizers = [] } = (await stored(object, resource))?.metadata ?? {};
      const value = finalizers.filter((name) => !name.startsWith(group));
      await world.operator.send('PATCH', pathOf(resource, object.metadata.name), {
        body: [{ op: 'replace', path: '/metadata/finalizers', value }],
        contentType: contentTypes.jsonPatch,
      });
      expect(await stored(object, resource)).toBeUndefined();
    }, eventually);
  const deleting = async (object: TestObject, resource?: Resource): Promise<void> =>
    await vi.waitFor(
      async () => expect((await stored(object, resource))?.metadata).toHaveProperty('deletionTimestamp'),
      eventually,
    );
  // When kinds come or go, in other files too, the collector stands still until it knows them. It looks every 30 seconds.
  const eventually = { timeout: 280_000, interval: 100 };

  const family = async (): Promise<{ parent: TestObject; child: TestObject; token: TestObject }> => {
    const parent = await create(world.alice, objectOf(ownedAccessKeys));
    const metadata = { ownerReferences: ownedBy(parent) };
    const child = await create(
      world.alice,
      objectOf(ownedAccessKeys, { accessKey: parent.metadata.name }, metadata),
    );
    const token = await create(world.alice, objectOf(directClusterEndpointTokens, {}, metadata));
    return { parent, child, token };
  };
  const remove = async (object: TestObject, propagationPolicy: string): Promise<void> => {
    expectOk(
      await world.bob.send('DELETE', pathOf(ownedAccessKeys, object.metadata.name), {
        query: { propagationPolicy },
      }),
    );
  };

  it('delete children in the background once their owner is gone', async () => {
    const { parent, child, token } = await family();
    await remove(parent, 'Background');
    await release(parent);
    await deleting(child);
    await deleting(token, directClusterEndpointTokens);
    await release(child);
    await release(token, directClusterEndpointTokens);
  });

  it('delete children first in the foreground', async () => {
    const { parent, child, token } = await family();
    await remove(parent, 'Foreground');
    await deleting(child);
    await deleting(token, directClusterEndpointTokens);
    await release(child);
    await release(token, directClusterEndpointTokens);
    await release(parent);
  });

  it('orphan children when asked', async () => {
    const { parent, child } = await family();
    await remove(parent, 'Orphan');
    await vi.waitFor(
      async () => expect((await stored(child))?.metadata).not.toHaveProperty('ownerReferences'),
      eventually,
    );
    await release(parent);
    expect((await stored(child))?.metadata).not.toHaveProperty('deletionTimestamp');
  });

  it('empty a namespace', async () => {
    const name = uniqueName('admission');
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
    expectOk(await world.admin.send('POST', pathOf(namespaces), { body: namespace }));
    const collection = pathOf(kubeConfigs).replace('/namespaces/default/', `/namespaces/${name}/`);
    const object = objectOf(kubeConfigs, {}, { namespace: name });
    expectOk(await world.alice.send('POST', collection, { body: object }));
    expectOk(await world.admin.send('DELETE', pathOf(namespaces, name)));
    await vi.waitFor(async () => {
      const path = `${collection}/${object.metadata.name}`;
      expect((await world.admin.send('GET', path)).body.metadata).toHaveProperty('deletionTimestamp');
      const body = { metadata: { finalizers: null } };
      expectOk(await world.operator.send('PATCH', path, { body, contentType: contentTypes.mergePatch }));
    }, eventually);
    await vi.waitFor(async () => {
      expect((await world.admin.send('GET', pathOf(namespaces, name))).status).toBe(404);
    }, eventually);
  });
});
