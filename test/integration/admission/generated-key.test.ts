import { describe, expect, it } from 'vitest';
import { ownedAccessKeys } from '../../../src/api/resources.ts';
import { contentTypes } from './api-client.ts';
import { objectOf, pathOf, type TestObject } from './objects.ts';
import { updateFlavours } from './update-flavours.ts';
import { admissionWorld, create, expectOk, read, testers, writeStatus } from './world.ts';

const generated = 'lk_generatedgeneratedgeneratedgeneratedgenerate';
const secretRef = { namespace: 'default', name: 'ci-key' };

describe('a generated key', async () => {
  const world = await admissionWorld();

  /** A key as the operator leaves it. */
  const keyOf = async (keySource: string, key = generated): Promise<TestObject> => {
    const created = await create(world.alice, objectOf(ownedAccessKeys, { user: 'alice', ttl: 60 }));
    await patch(world.operator, created, { spec: { key } });
    await writeStatus(world, created, { keySource, observedGeneration: 1 });
    return await read(world, created);
  };
  const patch = async (client: typeof world.alice, object: TestObject, body: object): Promise<TestObject> =>
    expectOk(
      await client.send('PATCH', pathOf(ownedAccessKeys, object.metadata.name), {
        body,
        contentType: contentTypes.mergePatch,
      }),
    );

  describe.each(updateFlavours.filter(({ name }) => name !== 'server-side apply with force'))(
    'in an update by $name',
    ({ update }) => {
      it.each<[string, Record<string, unknown> | undefined]>([
        ['leaves it out', { user: 'alice', ttl: 90 }],
        ['leaves out all of spec', undefined],
        ['makes it empty', { user: 'alice', key: '' }],
        ['leaves out the user too', { ttl: 90 }],
      ])('stays when the update %s', async (_, spec) => {
        const stored = await keyOf('Generated');
        const answer = await update(world.alice, stored, (object) => {
          if (spec === undefined) delete object.spec;
          else object.spec = spec;
        });
        expect(answer.status).toBe(200);
        expect((await read(world, stored)).spec).toMatchObject({ user: 'alice', key: generated });
      });

      it.each([['Plain'], ['Hash'], ['Secret']])(
        'is not kept when the key is one of source %s',
        async (keySource) => {
          const stored = await keyOf(keySource);
          const answer = await update(world.alice, stored, (object) => {
            object.spec = { user: 'alice', ttl: 90 };
          });
          expect(answer.status).toBe(200);
          expect((await read(world, stored)).spec).toEqual({ user: 'alice', ttl: 90 });
        },
      );

      it('gives way to another key', async () => {
        const stored = await keyOf('Generated');
        const key = 'suppliedsuppliedsupplied';
        const answer = await update(world.alice, stored, (object) => {
          object.spec = { user: 'alice', key };
        });
        expect(answer.status).toBe(200);
        expect((await read(world, stored)).spec).toEqual({ user: 'alice', key });
      });

      it('gives way to a Secret', async () => {
        const stored = await keyOf('Generated');
        const answer = await update(world.alice, stored, (object) => {
          object.spec = { user: 'alice', secretRef };
        });
        expect(answer.status).toBe(200);
        expect((await read(world, stored)).spec).toEqual({ user: 'alice', secretRef });
      });
    },
  );

  it('stays when server-side apply of another manager does not name it', async () => {
    const stored = await keyOf('Generated');
    const { apiVersion, kind } = stored;
    const answer = await world.alice.send('PATCH', pathOf(ownedAccessKeys, stored.metadata.name), {
      body: { apiVersion, kind, metadata: { name: stored.metadata.name }, spec: { ttl: 90 } },
      contentType: contentTypes.apply,
      query: { fieldManager: 'argocd-controller', force: 'true' },
    });
    expect(expectOk(answer).spec).toEqual({ user: 'alice', ttl: 90, key: generated });
  });

  it('makes room when a merge patch adds a Secret', async () => {
    const stored = await keyOf('Generated');
    const patched = await patch(world.alice, stored, { spec: { secretRef } });
    expect(patched.spec).toEqual({ user: 'alice', ttl: 60, secretRef });
  });

  it('makes no room for a Secret when the key was supplied', async () => {
    const stored = await keyOf('Plain');
    const answer = await world.alice.send('PATCH', pathOf(ownedAccessKeys, stored.metadata.name), {
      body: { spec: { secretRef } },
      contentType: contentTypes.mergePatch,
    });
    expect(answer.status).toBe(422);
    expect(answer.body.message).toContain('spec.key and spec.secretRef exclude each other');
    expect(answer.body.message).not.toContain(generated);
  });

  it('stays when the source stands only in the status that the update brings along', async () => {
    const stored = await keyOf('Plain');
    const answer = await world.alice.send('PUT', pathOf(ownedAccessKeys, stored.metadata.name), {
      body: { ...stored, spec: { user: 'alice' }, status: { keySource: 'Generated' } },
    });
    expect(expectOk(answer).spec).toEqual({ user: 'alice' });
  });

  it('survives kubectl replace of the manifest', async () => {
    const stored = await keyOf('Generated');
    const input = JSON.stringify(objectOf(ownedAccessKeys, { ttl: 90 }, { name: stored.metadata.name }));
    const owner = ['--as=alice', `--as-group=${testers}`];
    const replaced = await world.plane.kubectl(['replace', ...owner, '-f', '-'], { input });
    expect(replaced).toMatchObject({ exitCode: 0 });
    expect((await read(world, stored)).spec).toEqual({ user: 'alice', ttl: 90, key: generated });
  });

  it('survives kubectl apply of the manifest, which then shows no difference', async () => {
    const object = objectOf(ownedAccessKeys, { user: 'alice', ttl: 60 });
    const input = JSON.stringify(object);
    expect(await world.plane.kubectl(['apply', '-f', '-'], { input })).toMatchObject({ exitCode: 0 });
    await patch(world.operator, object, { spec: { key: generated } });
    const stored = await writeStatus(world, object, { keySource: 'Generated', observedGeneration: 1 });
    expect(await world.plane.kubectl(['apply', '-f', '-'], { input })).toMatchObject({ exitCode: 0 });
    expect(await world.plane.kubectl(['diff', '-f', '-'], { input })).toMatchObject({
      exitCode: 0,
      stdout: '',
    });
    const after = await read(world, object);
    expect(after.metadata['resourceVersion']).toBe(stored.metadata['resourceVersion']);
    expect(after.spec).toMatchObject({ key: generated });
  });

  it('makes room when kubectl apply adds a Secret to the manifest', async () => {
    const object = objectOf(ownedAccessKeys, { user: 'alice', ttl: 60 });
    await world.plane.kubectl(['apply', '-f', '-'], { input: JSON.stringify(object) });
    await patch(world.operator, object, { spec: { key: generated } });
    await writeStatus(world, object, { keySource: 'Generated', observedGeneration: 1 });
    const input = JSON.stringify({ ...object, spec: { ...object.spec, secretRef } });
    expect(await world.plane.kubectl(['apply', '-f', '-'], { input })).toMatchObject({ exitCode: 0 });
    expect((await read(world, object)).spec).toEqual({ user: 'alice', ttl: 60, secretRef });
    expect(await world.plane.kubectl(['diff', '-f', '-'], { input })).toMatchObject({
      exitCode: 0,
      stdout: '',
    });
  });
});
