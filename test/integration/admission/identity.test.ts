import { describe, expect, it } from 'vitest';
import { ownedAccessKeys } from '../../../src/api/resources.ts';
import { objectOf, pathOf, type TestObject } from './objects.ts';
import { jsonPatch } from './requests.ts';
import { updateFlavours } from './update-flavours.ts';
import { admissionWorld, create, read } from './world.ts';

type Spec = NonNullable<TestObject['spec']>;
const below = { accessKey: 'parent' };
const empty = { user: '', team: '', subject: '', scope: {} };

/** The names that are not empty. */
const identityOf = ({ user, team, subject }: Spec = {}): Spec =>
  Object.fromEntries(Object.entries({ user, team, subject }).filter(([, name]) => (name ?? '') !== ''));

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
    const answer = await jsonPatch(world.alice, created, [operation]);
    expect(answer).toMatchObject({ status: 200, body: { spec: { user: 'carol' } } });
  });

  describe.each(updateFlavours)('on an update by $name', ({ update }) => {
    it.each([
      ['user', { user: 'alice' }],
      ['team', { team: 'blue' }],
      ['subject', { subject: 'sso:1' }],
    ])('keeps the %s that is dropped', async (_, identity) => {
      const before = { ...identity, scope: {}, ttl: 60 };
      expect(await specAfter(before, { scope: {}, ttl: 90 })).toEqual({ ...identity, scope: {}, ttl: 90 });
    });

    it.each<[string, before: Spec, sent: Spec | undefined, identity: Spec]>([
      ['keeps the user when all of spec is dropped', {}, undefined, { user: 'alice' }],
      ['keeps the team that is made empty', { team: 'blue', scope: {} }, empty, { team: 'blue' }],
      ['gives none to a key that takes it from its parent', below, { ...below, ttl: 90 }, {}],
    ])('%s', async (_, before, sent, identity) => {
      expect(identityOf(await specAfter(before, sent))).toEqual(identity);
    });

    it('is refused when it becomes another one', async () => {
      expect(identityOf(await specAfter({ user: 'alice' }, { user: 'bob' }, 422))).toEqual({ user: 'alice' });
    });

    /** The spec that is stored after an update of a key with the first spec to the other. */
    const specAfter = async (before: Spec, sent: Spec | undefined, status = 200) => {
      const created = await create(world.alice, objectOf(ownedAccessKeys, before));
      const answer = await update(world.alice, created, (object) => {
        if (sent === undefined) delete object.spec;
        else object.spec = sent;
      });
      expect(answer.status).toBe(status);
      return (await read(world, created)).spec;
    };
  });
});
