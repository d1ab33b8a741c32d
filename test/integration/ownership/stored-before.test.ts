import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { removeFromEtcd, storeInEtcd } from '../../../lab/operator/etcd.ts';
import { until } from '../../../lab/operator/until.ts';
import { annotations, finalizers } from '../../../src/api/names.ts';
import {
  directClusterEndpointTokens,
  ownedAccessKeys,
  type Resource,
  virtualClusterInstanceKubeConfigs,
} from '../../../src/api/resources.ts';
import { type ApiAnswer, type ApiClient, contentTypes } from '../admission/api-client.ts';
import { objectOf, pathOf, type TestObject } from '../admission/objects.ts';
import { admissionWorld } from '../admission/world.ts';
import { notTheirs, notTheirsToDelete, notTheirsUnread, withoutNames } from './answers.ts';
import { peopleOf } from './people.ts';

const names = (prefix: string): string[] => Array.from({ length: 32 }, (_, index) => `${prefix}${index}`);
const largestRule = {
  verbs: names('v'),
  resources: Array.from({ length: 16 }, () => ({
    group: 'g',
    resources: names('r'),
    resourceNames: names('n'),
  })),
  resourceNames: names('n'),
  namespaces: names('n'),
  nonResourceURLs: names('/u'),
};
const kinds = [ownedAccessKeys, directClusterEndpointTokens, virtualClusterInstanceKubeConfigs];
const stampOf = (user: string) => ({ [annotations.requester]: user, [annotations.requesterGroups]: '[]' });

/**
 * Shapes that no schema of ours lets in. With those that its rules cannot be computed for the API server takes no update
 * at all, from no one; without finalizers they can be deleted.
 */
const malformed: readonly (readonly [string, unknown, unwritable?: readonly Resource[]])[] = [
  ['no spec', undefined],
  ['a text as spec', 'alice', kinds],
  ['a list as spec', ['alice'], kinds],
  ['a number as user', { user: 7 }, [ownedAccessKeys]],
  ['a map as user', { user: { alice: 'alice' } }, [ownedAccessKeys]],
  ['a list as access key', { user: 'alice', accessKey: ['laptop'] }, kinds],
  ['a number as team', { team: 7 }, [ownedAccessKeys]],
  ['a text as disabled', { user: 'alice', disabled: 'yes' }],
];

describe('objects that were stored before the rules', async () => {
  const world = await admissionWorld();
  const people = await peopleOf(world);

  /** As it was stored before the policies: without stamps, unless they are given. */
  const store = async (
    resource: Resource,
    spec: unknown,
    metadata: Partial<TestObject['metadata']> = {},
  ): Promise<string> => {
    const object = objectOf(resource, undefined, {
      finalizers: [finalizers[resource.kind as keyof typeof finalizers], 'example.com/theirs'],
      ...metadata,
      uid: randomUUID(),
      generation: 1,
      creationTimestamp: new Date().toISOString().replace(/\.\d+Z$/, 'Z'),
    });
    const { spec: _, ...bare } = object;
    await storeInEtcd(world.plane, resource, { ...bare, ...(spec === undefined ? {} : { spec }) });
    return pathOf(resource, object.metadata.name);
  };
  const change = async (client: ApiClient, path: string, value: object): Promise<ApiAnswer> =>
    await client.send('PATCH', path, { body: value, contentType: contentTypes.mergePatch });
  const put = async (client: ApiClient, path: string, description: string): Promise<ApiAnswer> => {
    const { body } = await people.master.send('GET', path);
    const noted = { ...body.metadata.annotations, note: description };
    const metadata = { ...body.metadata, annotations: noted };
    return await client.send('PUT', path, {
      body: { ...body, metadata, spec: { ...body.spec, description } },
    });
  };
  const expectRefusal = (answer: ApiAnswer, [status, message]: readonly [number, string]): void => {
    expect({
      status: answer.status,
      said: withoutNames(String(answer.body.message)),
    }).toEqual({ status, said: message });
  };

  it('belong to the user of the key where no one is stamped', async () => {
    const path = await store(ownedAccessKeys, { user: 'alice' });
    expectRefusal(await put(people.mallory, path, 'x'), notTheirsUnread);
    expectRefusal(await people.mallory.send('DELETE', path), notTheirsToDelete);
    expect((await put(people.alice, path, 'x')).status).toBe(200);
    expect((await people.alice.send('DELETE', path)).status).toBe(200);
  });

  it.each([
    ['a key below a key', ownedAccessKeys, { accessKey: 'laptop' }],
    ['a token', directClusterEndpointTokens, {}],
    ['a kubeconfig', virtualClusterInstanceKubeConfigs, { virtualClusterInstance: 'usable' }],
  ])('belong to no one where neither user nor stamp is there: %s', async (_, resource, spec) => {
    const path = await store(resource, spec);
    expectRefusal(await put(people.alice, path, 'x'), notTheirsUnread);
    expectRefusal(await put(people.root, path, 'x'), notTheirs);
    expectRefusal(await people.alice.send('DELETE', path), notTheirsToDelete);
    expect((await people.warden.send('DELETE', path)).status).toBe(200);
    expect((await change(people.warden, path, { metadata: { finalizers: null } })).status).toBe(200);
    expect((await people.master.send('GET', path)).status).toBe(404);
  });

  it('without a stamp can be turned off by those who may read or revoke', async () => {
    const path = await store(ownedAccessKeys, { accessKey: 'laptop' });
    expect((await change(people.root, path, { spec: { disabled: true } })).status).toBe(200);
  });

  it('do not come to belong to a user who writes a stamp on them', async () => {
    const path = await store(ownedAccessKeys, { accessKey: 'laptop' });
    expectRefusal(await change(people.root, path, { metadata: { annotations: stampOf('root') } }), notTheirs);
  });

  describe.each(kinds)('of the kind $kind', (resource) => {
    const writable = malformed.filter(([, , unwritable = []]) => !unwritable.includes(resource));
    const unwritable = malformed.filter(([, , kindsOf = []]) => kindsOf.includes(resource));

    it.each(writable)('with %s can be deleted and released by those who may read', async (_, spec) => {
      const path = await store(resource, spec);
      expectRefusal(await people.mallory.send('DELETE', path), notTheirsToDelete);
      expect((await people.root.send('DELETE', path)).status).toBe(200);
      const ours = { metadata: { finalizers: ['example.com/theirs'] } };
      expect((await change(people.root, path, ours)).status).toBe(200);
      expect((await change(people.root, path, { metadata: { finalizers: null } })).status).toBe(200);
      expect((await people.master.send('GET', path)).status).toBe(404);
    });

    it.each(unwritable)('with %s meet the schema, and no policy, when they are released', async (_, spec) => {
      const path = await store(resource, spec);
      expect((await people.root.send('DELETE', path)).status).toBe(200);
      const answer = await change(people.root, path, { metadata: { finalizers: null } });
      expect(answer).toMatchObject({ status: 422, body: { message: expect.stringMatching(/is invalid: /) } });
      expect(answer.body.message).not.toMatch(/denied request|no such|overload/);
      const { body } = await people.master.send('GET', path);
      await removeFromEtcd(world.plane, resource, body as TestObject);
      const gone = async () => (await people.master.send('GET', path)).status === 404;
      await until('the API server acts on it', gone);
    });

    it.each(malformed)('with %s can be deleted by those who may read', async (_, spec) => {
      const path = await store(resource, spec, { finalizers: [] });
      expectRefusal(await people.mallory.send('DELETE', path), notTheirsToDelete);
      expect((await people.root.send('DELETE', path)).status).toBe(200);
      expect((await people.master.send('GET', path)).status).toBe(404);
    });

    it.each(malformed)('with %s can be deleted by the user who created it', async (_, spec) => {
      const path = await store(resource, spec, { annotations: stampOf('alice'), finalizers: [] });
      expect((await people.alice.send('DELETE', path)).status).toBe(200);
      expect((await people.master.send('GET', path)).status).toBe(404);
    });
  });

  it.each<[string, Partial<TestObject['metadata']>, scope?: object]>([
    [
      'very many finalizers',
      { finalizers: Array.from({ length: 2000 }, (_, index) => `example.com/f${index}`) },
    ],
    [
      'very many annotations',
      { annotations: Object.fromEntries(Array.from({ length: 4000 }, (_, index) => [`a${index}`, ''])) },
    ],
    [
      'very many labels',
      { labels: Object.fromEntries(Array.from({ length: 4000 }, (_, index) => [`l${index}`, ''])) },
    ],
    ['as many rules as there can be', {}, { rules: Array.from({ length: 32 }, () => largestRule) }],
  ])('with %s can be turned off, deleted and released', async (_, metadata, scope = {}) => {
    const path = await store(ownedAccessKeys, { user: 'alice', scope }, metadata);
    expectRefusal(await put(people.master, path, 'x'), notTheirs);
    expect((await change(people.root, path, { spec: { disabled: true } })).status).toBe(200);
    expect((await people.root.send('DELETE', path)).status).toBe(200);
    await change(people.root, path, { metadata: { finalizers: null } });
    expect((await people.master.send('GET', path)).status).toBe(404);
  });
});
