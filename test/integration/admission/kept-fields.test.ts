import { describe, expect, it } from 'vitest';
import { ownedAccessKeys } from '../../../src/api/resources.ts';
import { contentTypes } from './api-client.ts';
import { objectOf, pathOf, type TestObject } from './objects.ts';
import { updateFlavours } from './update-flavours.ts';
import { admissionWorld, create, expectOk, read, testers, writeStatus } from './world.ts';

const generated = 'lk_generatedgeneratedgeneratedgeneratedgeneratedgene';
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

describe('what an emergency or a manifest set', async () => {
  const world = await admissionWorld();
  const namespaces = ['p-shop'];
  const kept = { disabled: true, secretRef, allowedNamespaces: namespaces };
  const flavours = updateFlavours.filter(({ name }) => name !== 'server-side apply with force');
  const keyOf = async (spec: object): Promise<TestObject> =>
    await create(world.alice, objectOf(ownedAccessKeys, { user: 'alice', ttl: 60, ...spec }));
  const specAfter = async (stored: TestObject) => (await read(world, stored)).spec;

  describe.each(flavours)('in an update by $name', ({ update }) => {
    it.each(Object.entries(kept))('stays when the update leaves it out: %s', async (field, value) => {
      const stored = await keyOf({ [field]: value });
      const answer = await update(world.alice, stored, (object) => {
        object.spec = { user: 'alice', ttl: 90 };
      });
      expectOk(answer);
      expect(await specAfter(stored)).toEqual({ user: 'alice', ttl: 90, [field]: value });
    });

    it('stays all together when the update has no spec', async () => {
      const stored = await keyOf(kept);
      expectOk(
        await update(world.alice, stored, (object) => {
          object.spec = { user: 'alice' };
        }),
      );
      expect(await specAfter(stored)).toMatchObject(kept);
    });

    it.each<[string, object, object]>([
      ['disabled', { disabled: true }, { disabled: false }],
      ['allowedNamespaces', { allowedNamespaces: namespaces }, { allowedNamespaces: [] }],
      ['secretRef', { secretRef }, { secretRef: { namespace: 'default', name: 'another' } }],
      ['secretRef', { secretRef }, { key: 'suppliedsuppliedsupplied' }],
    ])('is taken back by a value: %s', async (_, before, after) => {
      const stored = await keyOf(before);
      expectOk(
        await update(world.alice, stored, (object) => {
          object.spec = { user: 'alice', ttl: 90, ...after };
        }),
      );
      expect(await specAfter(stored)).toEqual({ user: 'alice', ttl: 90, ...after });
    });
  });

  it('is not kept when the operator disabled the key at its end, or a longer life would not revive it', async () => {
    const stored = await keyOf({ disabled: true });
    await writeStatus(world, stored, { disabledByExpiry: 1, observedGeneration: 1 });
    const { metadata } = await read(world, stored);
    const body = { ...stored, metadata, spec: { user: 'alice', ttl: 3_600 } };
    expectOk(await world.alice.send('PUT', pathOf(ownedAccessKeys, stored.metadata.name), { body }));
    expect(await specAfter(stored)).toEqual({ user: 'alice', ttl: 3_600 });
  });

  it('stays when the manager that set it applies its manifest without it', async () => {
    const { apiVersion, kind, metadata } = objectOf(ownedAccessKeys);
    const apply = async (spec: object) =>
      expectOk(
        await world.alice.send('PATCH', pathOf(ownedAccessKeys, metadata.name), {
          body: { apiVersion, kind, metadata, spec: { user: 'alice', ...spec } },
          contentType: contentTypes.apply,
          query: { fieldManager: 'argocd-controller', force: 'true' },
        }),
      );
    await apply({ disabled: true });
    expect((await apply({})).spec).toEqual({ user: 'alice', disabled: true });
    expect((await apply({ disabled: false })).spec).toEqual({ user: 'alice', disabled: false });
  });

  it('survives kubectl replace of the manifest, and belongs to no manager then', async () => {
    const stored = await keyOf({ disabled: true });
    const input = JSON.stringify(
      objectOf(ownedAccessKeys, { user: 'alice', ttl: 90 }, { name: stored.metadata.name }),
    );
    const owner = ['--as=alice', `--as-group=${testers}`];
    expect(await world.plane.kubectl(['replace', ...owner, '-f', '-'], { input })).toMatchObject({
      exitCode: 0,
    });
    const after = await read(world, stored);
    expect(after.spec).toEqual({ user: 'alice', ttl: 90, disabled: true });
    expect(JSON.stringify(after.metadata['managedFields'])).not.toContain('f:disabled');
  });
});
