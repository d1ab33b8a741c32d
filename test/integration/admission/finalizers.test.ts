import { describe, expect, it } from 'vitest';
import { finalizers } from '../../../src/api/names.ts';
import { clusters, ownedAccessKeys, virtualClusterInstances } from '../../../src/api/resources.ts';
import { credentialKinds, objectOf, pathOf } from './objects.ts';
import { mergePatch } from './requests.ts';
import { updateFlavours } from './update-flavours.ts';
import { admissionWorld, create, expectOk, made, read, resourceOf, strip } from './world.ts';

const theirs = 'example.com/theirs';
const kinds = [...credentialKinds, virtualClusterInstances, clusters].map(({ kind }) => ({
  kind,
  ours: finalizers[kind as keyof typeof finalizers],
}));

describe('the finalizer', async () => {
  const world = await admissionWorld();

  describe.each(kinds)('of a $kind', ({ kind, ours }) => {
    const resource = resourceOf(kind);

    it('is added at creation', async () => {
      expect((await made(world.alice, kind)).metadata.finalizers).toEqual([ours]);
    });

    it('is added to those of others, and only once', async () => {
      const withTheirs = objectOf(resource, undefined, { finalizers: [theirs] });
      expect((await create(world.alice, withTheirs)).metadata.finalizers).toEqual([theirs, ours]);
      const withBoth = objectOf(resource, undefined, { finalizers: [ours, theirs] });
      expect((await create(world.alice, withBoth)).metadata.finalizers).toEqual([ours, theirs]);
    });

    it.each(updateFlavours)('comes back when an update drops it by $name', async ({ update }) => {
      const created = await create(world.alice, objectOf(resource, undefined, { finalizers: [theirs] }));
      const answer = await update(world.alice, created, (object) => {
        delete object.metadata.finalizers;
      });
      expect(answer.status).toBe(200);
      expect((await read(world, created)).metadata.finalizers).toContain(ours);
    });

    it('lets the finalizers of others go', async () => {
      const created = await create(world.alice, objectOf(resource, undefined, { finalizers: [theirs] }));
      expect(expectOk(await strip(world.alice, created)).metadata.finalizers).toEqual([ours]);
    });

    it('cannot be stripped ahead of a delete, by the administrator neither', async () => {
      const created = await made(world.admin, kind);
      expect(expectOk(await strip(world.admin, created)).metadata.finalizers).toEqual([ours]);
    });

    it('can be stripped by hand once deletion has begun, which removes the object', async () => {
      const created = await made(world.alice, kind);
      const path = pathOf(resource, created.metadata.name);
      expectOk(await world.bob.send('DELETE', path));
      expect((await read(world, created)).metadata.finalizers).toEqual([ours]);
      expectOk(await strip(world.bob, created));
      expect((await world.admin.send('GET', path)).status).toBe(404);
    });
  });

  it('can be stripped by a JSON patch and by PUT while the object is being deleted', async () => {
    for (const flavour of updateFlavours.filter(({ name }) => ['PUT', 'JSON patch'].includes(name))) {
      const created = await made(world.alice, 'OwnedAccessKey');
      expectOk(await world.bob.send('DELETE', pathOf(ownedAccessKeys, created.metadata.name)));
      const answer = await flavour.update(world.bob, await read(world, created), (object) => {
        object.metadata.finalizers = [];
      });
      expect(answer.status).toBe(200);
      expect((await world.admin.send('GET', pathOf(ownedAccessKeys, created.metadata.name))).status).toBe(
        404,
      );
    }
  });

  it('may be taken off by the operator at any time', async () => {
    const created = await made(world.alice, 'OwnedAccessKey');
    expect(expectOk(await strip(world.operator, created)).metadata.finalizers).toBeUndefined();
  });

  it.each([
    ['system:serviceaccount:default:latchkey-operator'],
    ['system:serviceaccount:latchkey-system:latchkey-gateway'],
    ['latchkey-operator'],
  ])('may not be taken off by %s', async (name) => {
    const client = await world.user(name);
    const created = await made(client, 'DirectClusterEndpointToken');
    const ours = finalizers.DirectClusterEndpointToken;
    expect(expectOk(await strip(client, created)).metadata.finalizers).toEqual([ours]);
  });

  it('is not forced upon an object from which the operator has taken it', async () => {
    const created = await made(world.alice, 'OwnedAccessKey');
    await strip(world.operator, created);
    const answer = await mergePatch(world.alice, created, { spec: { ttl: 90 } });
    expect(expectOk(answer).metadata.finalizers).toBeUndefined();
  });
});
