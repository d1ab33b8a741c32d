import { describe, expect, it } from 'vitest';
import { annotations } from '../../../src/api/names.ts';
import { directClusterEndpointTokens, ownedAccessKeys } from '../../../src/api/resources.ts';
import type { ApiClient } from './api-client.ts';
import { credentialKinds, objectOf, pathOf, type TestObject } from './objects.ts';
import { mergePatch } from './requests.ts';
import { updateFlavours } from './update-flavours.ts';
import { admissionWorld, create, expectOk, read, testers, writeStatus } from './world.ts';

const { changedBy, changedByGroups, changedBeyondLimits, requesterGroups, rotate } = annotations;
const forged = {
  [changedBy]: 'eve',
  [changedByGroups]: '["system:masters"]',
  [changedBeyondLimits]: 'eves/1',
};

const stampsOf = ({ metadata }: TestObject) => ({
  by: metadata.annotations?.[changedBy],
  groups: groupsIn(metadata.annotations?.[changedByGroups]),
  beyond: metadata.annotations?.[changedBeyondLimits],
});
const groupsIn = (text: string | undefined): unknown => (text === undefined ? undefined : JSON.parse(text));
const none = { by: undefined, groups: undefined, beyond: undefined };
const bob = { by: 'bob', groups: [testers, 'system:authenticated'], beyond: undefined };

const patch = async (client: ApiClient, object: TestObject, body: object): Promise<TestObject> =>
  expectOk(await mergePatch(client, object, body));

describe('the stamp of a change', async () => {
  const world = await admissionWorld();
  const keyOfBob = async () => await create(world.alice, objectOf(ownedAccessKeys, { user: 'bob', ttl: 90 }));

  it.each(credentialKinds)('is not there on a new $kind, whatever it brings along', async (resource) => {
    expect(stampsOf(await create(world.alice, objectOf(resource, {}, { annotations: forged })))).toEqual(
      none,
    );
  });

  it.each(updateFlavours)('names who changed the spec by $name', async ({ update }) => {
    const key = await keyOfBob();
    const answer = await update(world.bob, key, (object) => {
      object.spec = { ...object.spec, ttl: 60 };
      object.metadata.annotations = { ...object.metadata.annotations, ...forged };
    });
    expect(answer.status).toBe(200);
    expect(stampsOf(await read(world, key))).toEqual(bob);
  });

  it.each([
    ['texts', { spec: { displayName: 'new', description: 'new' } }],
    ['that it is disabled', { spec: { disabled: true } }],
    ['a rotation', { metadata: { annotations: { [rotate]: 'now' } } }],
    ['the stamp itself', { metadata: { annotations: forged } }],
    ['an identity that is left out, which comes back', { spec: { user: null } }],
  ])('does not stand for %s', async (_, body) => {
    const key = await keyOfBob();
    expect(stampsOf(await patch(world.bob, key, body))).toEqual(none);
    const changed = await patch(world.bob, key, { spec: { ttl: 60 } });
    expect(stampsOf(changed)).toEqual(bob);
    expect(stampsOf(await patch(world.alice, key, body))).toEqual(bob);
  });

  it('does not stand for a rotation that others take back when they disable a key', async () => {
    const key = await keyOfBob();
    await patch(world.bob, key, { metadata: { annotations: { [rotate]: 'now' } } });
    const carol = await world.user('carol');
    const disabling = { spec: { disabled: true }, metadata: { annotations: { [rotate]: null } } };
    const disabled = await patch(carol, key, disabling);
    expect(disabled.metadata.annotations).not.toHaveProperty([rotate]);
    expect(stampsOf(disabled)).toEqual(none);
  });

  it('does not stand for a generated key that is left out, which comes back', async () => {
    const key = await keyOfBob();
    await patch(world.operator, key, { spec: { key: 'a-generated-key-of-this-test' } });
    await writeStatus(world, key, { keySource: 'Generated' });
    const { metadata, spec, ...rest } = await read(world, key);
    const { key: _generated, ...others } = spec ?? {};
    const { managedFields: _, ...kept } = metadata;
    const body = { ...rest, metadata: kept, spec: others };
    const replaced = expectOk(await world.bob.send('PUT', pathOf(ownedAccessKeys, metadata.name), { body }));
    expect(replaced.spec).toEqual(spec);
    expect(stampsOf(replaced)).toEqual(none);
  });

  it('does not name the operator, who writes generated keys and ends', async () => {
    const key = await keyOfBob();
    await patch(world.operator, key, { spec: { key: 'a-generated-key-of-this-test' } });
    expect(stampsOf(await read(world, key))).toEqual(none);
  });
});

describe('the groups of a token that speaks for its creator', async () => {
  const world = await admissionWorld();
  const carolIn = async (...groups: string[]) => await world.user('carol', [testers, ...groups]);
  const groupsOf = ({ metadata }: TestObject) => groupsIn(metadata.annotations?.[requesterGroups]);
  const newToken = () => objectOf(directClusterEndpointTokens, { ttl: 600 });
  const all = (...groups: string[]) => [testers, ...groups, 'system:authenticated'];
  const odd = ['a"b', 'a,b', ',', 'a,', ',b', '","', 'a\\', '\\"', '[', ']', 'équipe', ' x '];

  it.each([
    ['a longer life', { spec: { ttl: 7200 } }],
    ['a scope', { spec: { scope: {} } }],
    ['a rotation', { metadata: { annotations: { [rotate]: 'now' } } }],
  ])('are narrowed by %s to those that they are still in', async (_, body) => {
    const token = await create(await carolIn('dev', 'admins'), newToken());
    expect(groupsOf(await patch(await carolIn('other', 'dev'), token, body))).toEqual(all('dev'));
    const changed = await patch(await carolIn('dev', 'admins'), token, { spec: { ttl: 60 } });
    expect(groupsOf(changed)).toEqual(all('dev'));
  });

  it('are left alone by a text, and by the same groups', async () => {
    const token = await create(await carolIn('dev'), newToken());
    const before = groupsOf(token);
    const labelled = await patch(await carolIn(), token, { metadata: { labels: { a: 'b' } } });
    expect(groupsOf(labelled)).toEqual(before);
    expect(groupsOf(await patch(await carolIn('dev'), token, { spec: { ttl: 700 } }))).toEqual(before);
  });

  it.each(odd.map((name) => [name]))('lose exactly %j', async (name) => {
    const token = await create(await carolIn(...odd), newToken());
    const left = odd.filter((other) => other !== name);
    const changed = await patch(await carolIn(...left), token, { spec: { ttl: 60 } });
    expect(groupsOf(changed)).toEqual(all(...left));
  });

  it('stay as they are below a key, and on a key', async () => {
    const maker = await carolIn('dev');
    for (const object of [
      objectOf(directClusterEndpointTokens, { accessKey: 'above' }),
      objectOf(ownedAccessKeys),
    ]) {
      const made = await create(maker, object);
      expect(groupsOf(await patch(await carolIn(), made, { spec: { ttl: 60 } }))).toEqual(groupsOf(made));
    }
  });

  it('can be narrowed when there are very many', async () => {
    const many = Array.from({ length: 700 }, (_, index) => `group-${index}`);
    const token = await create(await carolIn(...many), newToken());
    const changed = await patch(await carolIn(...many.slice(1)), token, { spec: { ttl: 60 } });
    expect(groupsOf(changed)).toEqual(all(...many.slice(1)));
  });
});
