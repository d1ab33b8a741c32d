import { describe, expect, it } from 'vitest';
import { ownedAccessKeys } from '../../../src/api/resources.ts';
import { contentTypes } from './api-client.ts';
import { objectOf, pathOf, type TestObject } from './objects.ts';
import { updateFlavours } from './update-flavours.ts';
import { admissionWorld, create, read } from './world.ts';

const identityOf = ({ spec = {} }: TestObject): object =>
  Object.fromEntries(Object.entries(spec).filter(([field]) => ['user', 'team', 'subject'].includes(field)));

describe('the identity of an access key', async () => {
  const world = await admissionWorld();

  it.each([
    ['a service account', 'system:serviceaccount:argocd:argocd-application-controller'],
    ['the name of a component', 'system:kube-scheduler'],
    ['the anonymous user', 'system:anonymous'],
    ['kubeadm', 'kubeadm:cluster-admins'],
    ['one of our own names', 'management.platform.sh:kubeconfig:1'],
    ['a team', 'team:blue'],
    ['a name that is not ASCII', 'jürgen'],
    ['a name that looks like ASCII', 'аlice'],
    ['a space at the end', 'alice '],
    ['a space in front', ' alice'],
    ['a line feed at the end', 'alice\n'],
    ['a control character', 'al\u0007ice'],
  ])('is never %s by default', async (_, name) => {
    const client = await world.user(name);
    const answer = await client.send('POST', pathOf(ownedAccessKeys), {
      body: objectOf(ownedAccessKeys, {}),
    });
    expect(answer.status).toBe(422);
    expect(answer.body.message).toContain('the key has no identity; set exactly one of spec.user');
  });

  it.each([
    ['another user', 'spec.user', { user: 'bob' }],
    ['a team', 'spec.team', { team: 'blue', scope: {} }],
    ['a subject', 'spec.subject', { subject: 'sso:4711', scope: {} }],
    ['a parent key', 'spec.accessKey', { accessKey: 'parent' }],
  ])('stays what a reserved requester declares: %s', async (_, __, spec) => {
    const client = await world.user('system:serviceaccount:argocd:argocd-application-controller');
    expect((await create(client, objectOf(ownedAccessKeys, spec))).spec).toEqual(spec);
  });

  it.each([
    ['spec is empty', {}],
    ['spec is missing', undefined],
    ['all three are empty', { user: '', team: '', subject: '' }],
    ['there are only other fields', { ttl: 60, groups: ['devs'], scope: {} }],
  ])('is the requester when %s', async (_, spec) => {
    const created = await create(world.alice, objectOf(ownedAccessKeys, spec));
    expect(created.spec?.['user']).toBe('alice');
  });

  it.each([['MixedCase@example.com'], ['name with spaces'], ['systematic'], ['teammate:x'], ['x:system:y']])(
    'may be the requester %j',
    async (name) => {
      const client = await world.user(name);
      expect((await create(client, objectOf(ownedAccessKeys, {}))).spec).toEqual({ user: name });
    },
  );

  it.each([
    [{ user: 'bob' }],
    [{ team: 'blue', scope: {} }],
    [{ subject: 'sso:1', scope: {} }],
    [{ accessKey: 'parent' }],
  ])('is not touched when the manifest has %j', async (spec) => {
    expect((await create(world.alice, objectOf(ownedAccessKeys, spec))).spec).toEqual(spec);
  });

  it.each([
    ['is null', { op: 'add', path: '/spec', value: null }],
    ['is removed', { op: 'remove', path: '/spec' }],
  ])('is kept when spec %s', async (_, operation) => {
    const created = await create(world.alice, objectOf(ownedAccessKeys, { user: 'carol', ttl: 60 }));
    const answer = await world.alice.send('PATCH', pathOf(ownedAccessKeys, created.metadata.name), {
      body: [operation],
      contentType: contentTypes.jsonPatch,
    });
    expect(answer).toMatchObject({ status: 200, body: { spec: { user: 'carol' } } });
  });

  describe.each(updateFlavours)('on an update by $name', ({ update }) => {
    it.each([
      ['user', { user: 'alice' }],
      ['team', { team: 'blue' }],
      ['subject', { subject: 'sso:1' }],
    ])('keeps the %s that is dropped', async (_, identity) => {
      const created = await create(
        world.alice,
        objectOf(ownedAccessKeys, { ...identity, scope: {}, ttl: 60 }),
      );
      const answer = await update(world.alice, created, (object) => {
        object.spec = { scope: {}, ttl: 90 };
      });
      expect(answer.status).toBe(200);
      expect((await read(world, created)).spec).toEqual({ ...identity, scope: {}, ttl: 90 });
    });

    it('keeps the user when all of spec is dropped', async () => {
      const created = await create(world.alice, objectOf(ownedAccessKeys, {}));
      const answer = await update(world.alice, created, (object) => {
        delete object.spec;
      });
      expect(answer.status).toBe(200);
      expect(identityOf(await read(world, created))).toEqual({ user: 'alice' });
    });

    it('keeps the team that is made empty', async () => {
      const created = await create(world.alice, objectOf(ownedAccessKeys, { team: 'blue', scope: {} }));
      const answer = await update(world.alice, created, (object) => {
        object.spec = { user: '', team: '', subject: '', scope: {} };
      });
      expect(answer.status).toBe(200);
      expect(identityOf(await read(world, created))).toMatchObject({ team: 'blue' });
    });

    it('gives none to a key that takes it from its parent', async () => {
      const created = await create(world.alice, objectOf(ownedAccessKeys, { accessKey: 'parent' }));
      const answer = await update(world.alice, created, (object) => {
        object.spec = { accessKey: 'parent', ttl: 90 };
      });
      expect(answer.status).toBe(200);
      expect(identityOf(await read(world, created))).toEqual({});
    });

    it('is refused when it becomes another one', async () => {
      const created = await create(world.alice, objectOf(ownedAccessKeys));
      const answer = await update(world.alice, created, (object) => {
        object.spec = { user: 'bob' };
      });
      expect(answer.status).toBe(422);
      expect(identityOf(await read(world, created))).toEqual({ user: 'alice' });
    });
  });
});
