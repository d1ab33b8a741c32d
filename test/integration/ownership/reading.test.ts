import { beforeAll, describe, expect, it } from 'vitest';
import { ownedAccessKeys } from '../../../src/api/resources.ts';
import { type ApiAnswer, contentTypes } from '../admission/api-client.ts';
import { objectOf, pathOf, type TestObject } from '../admission/objects.ts';
import { admissionWorld, create } from '../admission/world.ts';
import { notTheirsUnread, withoutNames } from './answers.ts';
import { peopleOf } from './people.ts';

const key = 'supplied by no one else'.replaceAll(' ', '-').padEnd(40, 'x');
const copyTo = (path: string): object[] => [{ op: 'copy', from: '/spec/key', path }];

/** The warden may patch and not get, which is no boundary in Kubernetes: see docs/reference/rbac.md. */
describe('a patch of a key that is not theirs', async () => {
  const world = await admissionWorld();
  const people = await peopleOf(world);
  let target: TestObject;
  beforeAll(async () => {
    target = await create(people.alice, objectOf(ownedAccessKeys, { user: 'alice', key }));
  });
  const patch = async (body: unknown, contentType: string = contentTypes.jsonPatch): Promise<ApiAnswer> =>
    await people.warden.send('PATCH', pathOf(ownedAccessKeys, target.metadata.name), { body, contentType });

  it.each([
    ['a field with other values', copyTo('/spec/type')],
    ['a number', copyTo('/spec/ttl')],
    ['a flag', copyTo('/spec/disabled')],
    ['a list', copyTo('/spec/groups')],
    ['a group', [{ op: 'add', path: '/spec/groups', value: [] }, ...copyTo('/spec/groups/-')]],
    ['a map', copyTo('/spec/scope')],
    ['a field that must not change', copyTo('/spec/user')],
    ['a reference', copyTo('/spec/accessKey')],
    ['the description', copyTo('/spec/description')],
    ['an unknown field', copyTo('/spec/unheardOf')],
    ['the place of the whole spec', copyTo('/spec')],
    ['a label', copyTo('/metadata/labels/seen')],
    ['an annotation', copyTo('/metadata/annotations/seen')],
    ['a finalizer', copyTo('/metadata/finalizers/0')],
    ['the prefix of a generated name', copyTo('/metadata/generateName')],
    ['the UID', copyTo('/metadata/uid')],
    ['the version', copyTo('/metadata/resourceVersion')],
    ['a map that was copied whole', [{ op: 'copy', from: '/spec', path: '/spec/scope' }]],
    [
      'a field, while it turns the key off',
      [{ op: 'add', path: '/spec/disabled', value: true }, ...copyTo('/spec/type')],
    ],
    [
      'a label, while it turns the key off',
      [{ op: 'add', path: '/spec/disabled', value: true }, ...copyTo('/metadata/labels/seen')],
    ],
    [
      'the version, while it turns the key off',
      [{ op: 'add', path: '/spec/disabled', value: true }, ...copyTo('/metadata/resourceVersion')],
    ],
  ])('shows nothing when it copies the key to %s', async (_, body) => {
    const answer = await patch(body);
    expect(JSON.stringify(answer.body)).not.toContain(key);
    expect(answer.status).toBe(403);
    expect(withoutNames(answer.body.message)).toBe(notTheirsUnread[1]);
  });

  it.each([
    ['the time of creation', copyTo('/metadata/creationTimestamp')],
    ['all labels', copyTo('/metadata/labels')],
    ['the name', copyTo('/metadata/name')],
    ['the version of the API', copyTo('/apiVersion')],
  ])('shows the key all the same when it copies it to %s: that fails before any policy', async (_, body) => {
    expect(JSON.stringify((await patch(body)).body)).toContain(key);
  });

  it('can guess at a value, and sees nothing but whether it is right', async () => {
    const wrong = await patch([{ op: 'test', path: '/spec/key', value: 'wrong' }]);
    expect(wrong.status).toBe(422);
    expect(JSON.stringify(wrong.body)).not.toContain(key);
    expect((await patch([{ op: 'test', path: '/spec/key', value: key }])).status).toBe(403);
  });

  it.each([
    ['a merge patch', { spec: { type: 'Nonsense', ttl: 'soon' } }, contentTypes.mergePatch],
    ['server-side apply', { spec: { type: 'Nonsense' } }, contentTypes.apply],
  ])('shows nothing of a mistake in %s', async (_, change, contentType) => {
    const { apiVersion, kind, metadata } = target;
    const body = { apiVersion, kind, metadata: { name: metadata.name }, ...change };
    const path = pathOf(ownedAccessKeys, metadata.name);
    const answer = await people.warden.send('PATCH', path, {
      body,
      contentType,
      query: contentType === contentTypes.apply ? { fieldManager: 'x', force: 'true' } : {},
    });
    expect(JSON.stringify(answer.body)).not.toContain(key);
    expect(answer.status).toBe(403);
  });
});

describe('a delete of a key that is not theirs', async () => {
  const world = await admissionWorld();
  const people = await peopleOf(world);

  it('shows those who may revoke it the object, whose key is dead at that moment', async () => {
    const target = await create(people.alice, objectOf(ownedAccessKeys, { user: 'alice', key }));
    const path = pathOf(ownedAccessKeys, target.metadata.name);
    expect(JSON.stringify((await people.mallory.send('DELETE', path)).body)).not.toContain(key);
    const answer = await people.warden.send('DELETE', path);
    expect(answer.body).toMatchObject({ metadata: { deletionTimestamp: expect.any(String) }, spec: { key } });
  });
});
