import { describe, expect, it } from 'vitest';
import { ownedAccessKeys } from '../../../src/api/resources.ts';
import type { ApiClient } from './api-client.ts';
import { objectOf, pathOf, type TestObject } from './objects.ts';
import { apply, mergePatch } from './requests.ts';
import { updateFlavours } from './update-flavours.ts';
import { admissionWorld, create, expectOk, read, testers, writeStatus } from './world.ts';

const generated = 'lk_generatedgeneratedgeneratedgeneratedgeneratedgene';
const secretRef = { namespace: 'default', name: 'ci-key' };

/** Ways in which a field that is left out is dropped. */
const replacing = updateFlavours.filter(({ name }) => name !== 'server-side apply with force');
/** Sent, and stored as it was sent. */
const same = (spec: Record<string, unknown>) => [spec, spec] as const;

describe('a generated key', async () => {
  const world = await admissionWorld();

  /** A key as the operator leaves it. */
  const keyOf = async (keySource: string, key = generated): Promise<TestObject> => {
    const created = await create(world.alice, objectOf(ownedAccessKeys, { user: 'alice', ttl: 60 }));
    await patch(world.operator, created, { spec: { key } });
    await writeStatus(world, created, { keySource, observedGeneration: 1 });
    return await read(world, created);
  };
  const patch = async (client: ApiClient, object: TestObject, body: object): Promise<TestObject> =>
    expectOk(await mergePatch(client, object, body));

  const [alice, key] = [{ user: 'alice' }, 'suppliedsuppliedsupplied'];
  const kept = expect.objectContaining({ ...alice, key: generated });

  describe.each(replacing)('in an update by $name', ({ update }) => {
    it.each<[string, source: string, sent: TestObject['spec'], after: unknown]>([
      ['stays when the update leaves it out', 'Generated', { ...alice, ttl: 90 }, kept],
      ['stays when the update leaves out all of spec', 'Generated', undefined, kept],
      ['stays when the update makes it empty', 'Generated', { ...alice, key: '' }, kept],
      ['stays when the update leaves out the user too', 'Generated', { ttl: 90 }, kept],
      ['is not kept when the key is one of source Plain', 'Plain', ...same({ ...alice, ttl: 90 })],
      ['is not kept when the key is one of source Hash', 'Hash', ...same({ ...alice, ttl: 90 })],
      ['is not kept when the key is one of source Secret', 'Secret', ...same({ ...alice, ttl: 90 })],
      ['gives way to another key', 'Generated', ...same({ ...alice, key })],
      ['gives way to a Secret', 'Generated', ...same({ ...alice, secretRef })],
    ])('%s', async (_, source, sent, after) => {
      const stored = await keyOf(source);
      const answer = await update(world.alice, stored, (object) => {
        if (sent === undefined) delete object.spec;
        else object.spec = sent;
      });
      expect(answer.status).toBe(200);
      expect((await read(world, stored)).spec).toEqual(after);
    });
  });

  it('stays when server-side apply of another manager does not name it', async () => {
    const stored = await keyOf('Generated');
    const answer = await apply(world.alice, { ...stored, spec: { ttl: 90 } }, 'argocd-controller');
    expect(expectOk(answer).spec).toEqual({ user: 'alice', ttl: 90, key: generated });
  });

  it('makes room when a merge patch adds a Secret', async () => {
    const stored = await keyOf('Generated');
    const patched = await patch(world.alice, stored, { spec: { secretRef } });
    expect(patched.spec).toEqual({ user: 'alice', ttl: 60, secretRef });
  });

  it('makes no room for a Secret when the key was supplied', async () => {
    const stored = await keyOf('Plain');
    const answer = await mergePatch(world.alice, stored, { spec: { secretRef } });
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
});

describe('what an emergency or a manifest set', async () => {
  const world = await admissionWorld();
  const namespaces = ['p-shop'];
  const kept = { disabled: true, secretRef, allowedNamespaces: namespaces };
  const keyOf = async (spec: object): Promise<TestObject> =>
    await create(world.alice, objectOf(ownedAccessKeys, { user: 'alice', ttl: 60, ...spec }));
  const specAfter = async (stored: TestObject) => (await read(world, stored)).spec;

  describe.each(replacing)('in an update by $name', ({ update }) => {
    const [left, taken] = ['stays when the update leaves it out', 'is taken back by a value'];
    const elsewhere = { secretRef: { namespace: 'default', name: 'another' } };
    it.each<[string, before: object, sent: object, after?: object]>([
      ...Object.entries(kept).map(([field, value]): [string, object, object, object] => [
        `${left}: ${field}`,
        { [field]: value },
        {},
        { [field]: value },
      ]),
      [`${left}: all together`, kept, {}, kept],
      [`${taken}: disabled`, { disabled: true }, { disabled: false }],
      [`${taken}: allowedNamespaces`, { allowedNamespaces: namespaces }, { allowedNamespaces: [] }],
      [`${taken}: secretRef`, { secretRef }, elsewhere],
      [`${taken}: secretRef, a key`, { secretRef }, { key: 'suppliedsuppliedsupplied' }],
    ])('%s', async (_, before, sent, after = sent) => {
      const stored = await keyOf(before);
      expectOk(
        await update(world.alice, stored, (object) => {
          object.spec = { user: 'alice', ttl: 90, ...sent };
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
    const object = objectOf(ownedAccessKeys);
    const applied = async (spec: object) =>
      expectOk(
        await apply(world.alice, { ...object, spec: { user: 'alice', ...spec } }, 'argocd-controller', {
          labels: object.metadata.labels,
        }),
      );
    await applied({ disabled: true });
    expect((await applied({})).spec).toEqual({ user: 'alice', disabled: true });
    expect((await applied({ disabled: false })).spec).toEqual({ user: 'alice', disabled: false });
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
