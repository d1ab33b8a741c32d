import { describe, expect, it } from 'vitest';
import { annotations } from '../../../src/api/names.ts';
import { ownedAccessKeys } from '../../../src/api/resources.ts';
import type { ApiClient } from './api-client.ts';
import { credentialKinds, objectOf, pathOf, type TestObject } from './objects.ts';
import { apply, jsonPatch, mergePatch } from './requests.ts';
import { updateFlavours } from './update-flavours.ts';
import { admissionWorld, create, expectOk, read, testers, writeStatus } from './world.ts';

const { requester, requesterGroups, createdWith } = annotations;
const forged = { [requester]: 'eve', [requesterGroups]: '["system:masters"]', [createdWith]: 'eves/uid' };
const aliceGroups = JSON.stringify([testers, 'system:authenticated']);
const asAlice = { 'impersonate-user': 'alice', 'impersonate-group': testers };
const extra = 'impersonate-extra-management.platform.sh%2faccess-key';

const stampsOf = (object: TestObject): Record<string, string | undefined> => ({
  requester: object.metadata.annotations?.[requester],
  groups: object.metadata.annotations?.[requesterGroups],
  createdWith: object.metadata.annotations?.[createdWith],
});

// Another spelling of the same extra: HTTP clients join headers of one name.
const sameExtra = 'impersonate-extra-management%2eplatform.sh%2faccess-key';

describe('requester stamps', async () => {
  const world = await admissionWorld();

  it.each(credentialKinds)('overwrite what a $kind brings along', async (resource) => {
    const created = await create(
      world.alice,
      objectOf(resource, {}, { annotations: { ...forged, keep: 'me' } }),
    );
    expect(stampsOf(created)).toEqual({ requester: 'alice', groups: aliceGroups, createdWith: undefined });
    expect(created.metadata.annotations?.['keep']).toBe('me');
  });

  it.each(credentialKinds)('stand on a $kind that was created by server-side apply', async (resource) => {
    const object = objectOf(resource, {}, { annotations: forged });
    const applied = await applyAs(world.alice, 'argocd-controller', object);
    expect(stampsOf(applied)).toEqual({ requester: 'alice', groups: aliceGroups, createdWith: undefined });
  });

  it('name the user of a dry run, too', async () => {
    const answer = await world.alice.send('POST', pathOf(ownedAccessKeys), {
      body: objectOf(ownedAccessKeys, {}, { annotations: forged }),
      query: { dryRun: 'All' },
    });
    expect(stampsOf(answer.body)).toMatchObject({ requester: 'alice' });
  });

  it('stand on an object with a generated name', async () => {
    const object = objectOf(ownedAccessKeys, {}, { annotations: forged });
    const { name: _, ...metadata } = object.metadata;
    const body = { ...object, metadata: { ...metadata, generateName: 'admission-' } };
    const created = expectOk(await world.alice.send('POST', pathOf(ownedAccessKeys), { body }));
    expect(stampsOf(created)).toMatchObject({ requester: 'alice', groups: aliceGroups });
  });

  it.each([
    ['a double quote', ['a"b']],
    ['an attempt to close the list', ['x","system:masters', '"]']],
    ['a comma', ['a,b', ',', 'a, b']],
    ['a backslash', ['a\\b', '\\', '\\"', '\\u0041', 'c\\']],
    ['brackets and braces', ['[', ']', '{}', '["x"]']],
    ['spaces at the ends', [' a ', '  ']],
    ['Unicode', ['équipe', '开发', 'ﬁ', '👩‍💻', '\u2028', '\u00a0', '\ufeff']],
    ['HTML', ['<b>&amp;</b>']],
    ['the same name twice', ['twice', 'twice']],
    ['many names', Array.from({ length: 200 }, (_, index) => `group-${index}`)],
  ])('write group names with %s as a JSON array', async (_, groups) => {
    const client = await world.user('carol', [testers, ...groups]);
    const created = await create(client, objectOf(ownedAccessKeys));
    expect(JSON.parse(stampsOf(created)['groups'] ?? '')).toEqual([
      testers,
      ...groups,
      'system:authenticated',
    ]);
  });

  it.each([
    ['a line feed', 'a\nb'],
    ['a tab', 'a\tb'],
    ['a bell, which CEL and JSON escape differently', 'a\u0007b'],
    ['a vertical tab', 'a\u000bb'],
    ['an escape character', '\u001b[31mred'],
    ['a NUL', 'a\u0000b'],
    ['a delete character', 'a\u007fb'],
  ])('leave out a group name with %s', async (_, name) => {
    const client = await world.user('carol', [testers, name, 'last']);
    const created = await create(client, objectOf(ownedAccessKeys));
    expect(JSON.parse(stampsOf(created)['groups'] ?? '')).toEqual([testers, 'last', 'system:authenticated']);
  });

  it.each([
    ['a service account', 'system:serviceaccount:argocd:argocd-application-controller'],
    ['quotes', 'o"brien'],
    ['Unicode', 'jürgen'],
    ['a line feed', 'a\nb'],
  ])('keep the name of a requester with %s as it is', async (_, name) => {
    const client = await world.user(name);
    const created = await create(client, objectOf(ownedAccessKeys));
    expect(stampsOf(created)).toMatchObject({ requester: name });
  });

  it.each([
    ['nothing', undefined, undefined],
    ['one credential', 'ci/5c7e1f0e', 'ci/5c7e1f0e'],
  ])('record %s in created-with', async (_, values, want) => {
    const client = world.admin.withHeaders({
      ...asAlice,
      ...(values === undefined ? {} : { [extra]: values }),
    });
    const created = await create(client, objectOf(ownedAccessKeys, {}, { annotations: forged }));
    expect(stampsOf(created)).toMatchObject({ requester: 'alice', createdWith: want });
  });

  describe.each([
    ['two credentials', { [extra]: 'a/1', [sameExtra]: 'b/2' }],
    ['the same one twice', { [extra]: 'a/1', [sameExtra]: 'a/1' }],
    ['two credentials that somebody joined', { [extra]: 'a/1, b/2' }],
    ['two credentials that somebody joined closely', { [extra]: 'a/1,b/2' }],
    ['an empty value', { [extra]: '' }],
  ])('refuse a request that says it came with %s', (_, headers) => {
    const refused = {
      status: 403,
      body: {
        message: expect.stringMatching(
          /: the user extra management\.platform\.sh\/access-key holds one value, "name\/uid"; only the gateway sets it \(requester "alice", code ERR_POLICY_CREDENTIAL_EXTRA\)$/,
        ),
      },
    };

    it.each(credentialKinds)('to create a $kind', async (resource) => {
      const client = world.admin.withHeaders({ ...asAlice, ...headers });
      const answer = await client.send('POST', pathOf(resource), { body: objectOf(resource) });
      expect(answer).toMatchObject(refused);
    });

    it.each(credentialKinds)('to change a $kind, or a text of it alone', async (resource) => {
      const created = await create(world.alice, objectOf(resource));
      const client = world.admin.withHeaders({ ...asAlice, ...headers });
      for (const body of [{ spec: { displayName: 'changed' } }, { metadata: { labels: { a: 'b' } } }]) {
        expect(await mergePatch(client, created, body)).toMatchObject(refused);
      }
    });
  });

  describe.each([
    ['forges them', forged as Record<string, string>],
    ['leaves them out', {}],
  ])('stay as they were when the user that the key speaks for, who did not make it, %s', (_, theirs) => {
    it.each(updateFlavours)('by $name', async ({ update }) => {
      const created = await create(
        world.admin.withHeaders({ ...asAlice, [extra]: 'ci/1' }),
        objectOf(ownedAccessKeys, { user: 'bob' }),
      );
      const answer = await update(world.bob, created, (object) => {
        object.metadata.annotations = { ...theirs, marker: 'set' };
      });
      expect(answer.status).toBe(200);
      const stored = await read(world, created);
      expect(stampsOf(stored)).toEqual({ requester: 'alice', groups: aliceGroups, createdWith: 'ci/1' });
      expect(stored.metadata.annotations?.['marker']).toBe('set');
    });
  });

  const escaped = (name: string) => `/metadata/annotations/${name.replace('/', '~1')}`;
  const moved = { op: 'move', from: escaped(requesterGroups), path: escaped(requester) };

  it.each<[string, object]>([
    ['a merge patch sets every annotation to null', { metadata: { annotations: null } }],
    ['a merge patch sets one to null', { metadata: { annotations: { [requester]: null } } }],
    ['a JSON patch removes all annotations', [{ op: 'remove', path: '/metadata/annotations' }]],
    ['a JSON patch removes one', [{ op: 'remove', path: escaped(requester) }]],
    ['a JSON patch moves one over another', [moved]],
  ])('come back when %s', async (_, body) => {
    const created = await create(world.alice, objectOf(ownedAccessKeys, { user: 'bob' }));
    const answer = Array.isArray(body)
      ? await jsonPatch(world.bob, created, body)
      : await mergePatch(world.bob, created, body);
    expect(answer.status).toBe(200);
    expect(stampsOf(answer.body)).toEqual(stampsOf(created));
  });

  it('make no change of their own when server-side apply is repeated', async () => {
    const object = objectOf(ownedAccessKeys);
    await applyAs(world.alice, 'flux', object);
    const first = await writeStatus(world, object, { observedGeneration: 1 });
    const second = await applyAs(world.alice, 'flux', object);
    expect(second.metadata['resourceVersion']).toBe(first.metadata['resourceVersion']);
  });

  it('stay with the creator when another manager applies with force', async () => {
    const object = objectOf(ownedAccessKeys, { user: 'bob' });
    await applyAs(world.alice, 'flux', object);
    const applied = await applyAs(world.bob, 'other', { ...object, spec: { ...object.spec, ttl: 60 } });
    expect(stampsOf(applied)).toMatchObject({ requester: 'alice' });
    expect(applied.spec?.['ttl']).toBe(60);
  });
});

const applyAs = async (client: ApiClient, manager: string, object: TestObject): Promise<TestObject> =>
  expectOk(await apply(client, object, manager, object.metadata));
