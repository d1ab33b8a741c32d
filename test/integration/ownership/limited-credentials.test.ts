import { describe, expect, it } from 'vitest';
import {
  directClusterEndpointTokens,
  ownedAccessKeys,
  type Resource,
  virtualClusterInstanceKubeConfigs,
} from '../../../src/api/resources.ts';
import type { ApiAnswer, ApiClient } from '../admission/api-client.ts';
import { type TestObject, unreadObjectOf } from '../admission/objects.ts';
import { jsonPatch, mergePatch, put, remove } from '../admission/requests.ts';
import { admissionWorld, create, read, writeStatus } from '../admission/world.ts';
import { peopleOf } from './people.ts';

const message =
  'metadata.name: this request came with a credential that has an end, a scope or a parent, and may change only that credential and those that name it in spec.accessKey; log in again, or ask an administrator of the platform';
const itself =
  'spec: a limited credential may change of itself only displayName, description and disabled: true; log in again, or ask an administrator of the platform';
const everyone = 'ownership-tests-everyone';
const extra = 'impersonate-extra-management.platform.sh%2Faccess-key';
const key = 'a-key-of-alice-that-works-for-her';

describe('a request with a credential that the gateway says is limited', async () => {
  const world = await admissionWorld();
  const people = await peopleOf(world);
  const scoped = await create(
    people.alice,
    unreadObjectOf(ownedAccessKeys, { user: 'alice', scope: {}, ttl: 600 }),
  );
  const limited = limitedTo(scoped);
  const child = async (resource: Resource, status: object = { accessKeyUID: scoped.metadata['uid'] }) => {
    const made = await create(people.alice, unreadObjectOf(resource, { accessKey: scoped.metadata.name }));
    return await writeStatus(world, made, status);
  };

  /** Alice as the gateway sends her on; she may read and patch too, as far as roles go. */
  function limitedTo({ metadata }: TestObject, group = 'ownership-tests-root'): ApiClient {
    return sentWith(metadata, group).withHeaders({ [`${extra}-limited`]: 'true' });
  }

  /** The same without a word about limits. */
  function sentWith({ name, ...metadata }: TestObject['metadata'], group: string): ApiClient {
    return world.admin.withHeaders({
      'impersonate-user': 'alice',
      'impersonate-group': group,
      [extra]: `${name}/${metadata['uid']}`,
    });
  }

  const others = [
    ['another key of its user', ownedAccessKeys, { user: 'alice', key }],
    ['a token of its user', directClusterEndpointTokens, { ttl: 600 }],
    ['a kubeconfig of its user', virtualClusterInstanceKubeConfigs, { virtualClusterInstance: 'usable' }],
    ['a child of another key', directClusterEndpointTokens, { accessKey: 'another' }],
  ] as const;

  it.each(others)('neither changes nor deletes %s', async (_, resource, spec) => {
    const object = await create(people.alice, unreadObjectOf(resource, spec));
    for (const answer of await attempts(limited, object)) {
      expect(said(answer)).toEqual({ status: 403, said: expect.stringContaining(message) });
      expect(JSON.stringify(answer.body)).not.toContain(key);
    }
    expect((await read(world, object)).spec).toEqual(object.spec);
  });

  it('does not take the scope off the key above it', async () => {
    const below = await child(ownedAccessKeys);
    for (const answer of await attempts(limitedTo(below), scoped)) expect(answer.status).toBe(403);
    expect((await read(world, scoped)).spec).toEqual(scoped.spec);
  });

  it('does not take a namesake for its child, nor its child for itself', async () => {
    const namesake = await child(directClusterEndpointTokens, { accessKeyUID: 'of-an-earlier-key' });
    for (const answer of await attempts(limited, namesake)) expect(answer.status).toBe(403);
    const other = { ...scoped, metadata: { ...scoped.metadata, uid: 'of-a-later-key' } };
    for (const answer of await attempts(limitedTo(other), scoped)) expect(answer.status).toBe(403);
  });

  it.each([
    ['before', {}],
    ['after', { accessKeyUID: scoped.metadata['uid'] }],
  ])('changes and deletes its children, %s the operator has pinned them', async (_, status) => {
    for (const resource of [ownedAccessKeys, directClusterEndpointTokens]) {
      const below = await child(resource, status);
      expect(await mergePatch(limited, below, { spec: { ttl: 60 } })).toMatchObject({ status: 200 });
      expect(await remove(limited, below)).toMatchObject({ status: 200 });
    }
  });

  const refusedItself = { status: 403, said: expect.stringContaining(itself) };

  it.each([
    ['a key with a scope', ownedAccessKeys, { user: 'alice', scope: {}, ttl: 600 }],
    ['a key with an end', ownedAccessKeys, { user: 'alice', ttl: 600 }],
    ['a token with rules', directClusterEndpointTokens, { rules: [{}], ttl: 600 }],
    ['a token with a scope', directClusterEndpointTokens, { scope: {}, ttl: 600 }],
    ['a kubeconfig', virtualClusterInstanceKubeConfigs, { virtualClusterInstance: 'usable' }],
  ])('does not widen or prolong itself: %s', async (_, resource, spec) => {
    const own = await create(people.alice, unreadObjectOf(resource, spec));
    const longer = resource === virtualClusterInstanceKubeConfigs ? 'certificateTTL' : 'ttl';
    for (const change of [{ scope: undefined, rules: undefined, [longer]: 90_000 }, { [longer]: 90_000 }])
      expect(said(await put(limitedTo(own, everyone), own, change))).toEqual(refusedItself);
  });

  it('describes, disables and deletes itself, and other credentials of its user change it', async () => {
    const own = await create(people.alice, unreadObjectOf(ownedAccessKeys, { user: 'alice', ttl: 600 }));
    const holder = limitedTo(own);
    for (const spec of [{ ttl: 900 }, { scope: {} }, { ttl: 0 }])
      expect(said(await mergePatch(holder, own, { spec }))).toEqual(refusedItself);
    expect(await put(limitedTo(own, everyone), own, { description: 'mine' })).toMatchObject({ status: 200 });
    expect(await mergePatch(holder, own, { spec: { disabled: true } })).toMatchObject({ status: 200 });
    const disabled = await read(world, own);
    expect(await put(people.holder, disabled, { ttl: 300 })).toMatchObject({ status: 200 });
    expect(await remove(holder, own)).toMatchObject({ status: 200 });
  });

  it('changes itself without limits', async () => {
    const own = await create(people.alice, unreadObjectOf(ownedAccessKeys, { user: 'alice' }));
    expect(await put(sentWith(own.metadata, everyone), own, { ttl: 900 })).toMatchObject({ status: 200 });
  });
});

const said = ({ status, body }: ApiAnswer) => ({ status, said: String(body.message) });

/** Everything that would change the object, or show what is in it. */
async function attempts(client: ApiClient, object: TestObject): Promise<readonly ApiAnswer[]> {
  const wrong = [{ op: 'copy', from: '/spec', path: '/spec/displayName' }];
  return [
    await mergePatch(client, object, { spec: { displayName: 'other' } }),
    await mergePatch(client, object, { spec: { scope: null, ttl: 90 } }),
    await mergePatch(client, object, { metadata: { labels: { a: 'b' } } }),
    await jsonPatch(client, object, wrong),
    await put(client, object, { ttl: 90 }),
    await remove(client, object),
    await remove(client, object, { dryRun: 'All' }),
  ];
}
