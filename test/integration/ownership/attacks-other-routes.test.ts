import { describe, expect, it } from 'vitest';
import { annotations, labels } from '../../../src/api/names.ts';
import { directClusterEndpointTokens, ownedAccessKeys, type Resource } from '../../../src/api/resources.ts';
import { type ApiAnswer, contentTypes } from '../admission/api-client.ts';
import { objectOf, pathOf, type TestObject, unreadObjectOf } from '../admission/objects.ts';
import { apply, mergePatch, put } from '../admission/requests.ts';
import { admissionWorld, create, read, testers, writeStatus } from '../admission/world.ts';
import { peopleOf } from './people.ts';

const { requester, requesterGroups, changedBy } = annotations;
const stampsOf = ({ metadata }: TestObject) => [
  metadata.annotations?.[requester],
  metadata.annotations?.[requesterGroups],
];
const forged = { [requester]: 'root', [requesterGroups]: '["system:masters"]' };

describe('a route beside the object', async () => {
  const world = await admissionWorld();
  const people = await peopleOf(world);

  it.each(['scale', 'finalize', 'approval', 'token', 'eviction', 'metadata'])(
    'that is called %s is none, for its owner and for the administrator',
    async (subresource) => {
      const target = await create(people.alice, unreadObjectOf(ownedAccessKeys, { user: 'alice' }));
      const path = pathOf(ownedAccessKeys, target.metadata.name, subresource);
      const body = { ...target, metadata: { ...target.metadata, annotations: forged } };
      for (const client of [people.alice, people.master]) {
        const answers: ApiAnswer[] = [];
        for (const method of ['GET', 'PUT', 'POST', 'PATCH', 'DELETE'])
          answers.push(await client.send(method, path, method === 'GET' ? {} : { body }));
        for (const { status } of answers) expect([403, 404, 405]).toContain(status);
      }
      expect(await read(world, target)).toEqual(target);
    },
  );

  it('is no way to metadata and spec for the account that writes the last activity', async () => {
    const made = await create(people.alice, unreadObjectOf(ownedAccessKeys, { user: 'alice', ttl: 600 }));
    const target = await writeStatus(world, made, { observedGeneration: 1, serial: 1 });
    const lastActivity = new Date().toISOString();
    const answer = await world.activity.send(
      'PATCH',
      pathOf(ownedAccessKeys, target.metadata.name, 'status'),
      {
        body: {
          metadata: {
            annotations: { ...forged, [changedBy]: 'root' },
            labels: { [labels.ephemeral]: 'true' },
            finalizers: null,
            ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'gone', uid: 'gone' }],
          },
          spec: { user: 'root', ttl: 0 },
          status: { lastActivity },
        },
        contentType: contentTypes.mergePatch,
      },
    );
    expect(answer).toMatchObject({ status: 200, body: { status: { lastActivity } } });
    const { metadata, spec } = await read(world, target);
    const { resourceVersion: _, managedFields: __, ...kept } = target.metadata;
    expect(metadata).toMatchObject(kept);
    expect(metadata).not.toHaveProperty('ownerReferences');
    expect(spec).toEqual(target.spec);
  });
});

describe('stamps', async () => {
  const world = await admissionWorld();

  it.each<[string, Record<string, string>]>([
    ['as they are', {}],
    ['forged', forged],
  ])(
    'stay when the user of the key, who did not make it, applies them %s and then leaves them out',
    async (_, theirs) => {
      const target = await create(world.alice, objectOf(ownedAccessKeys, { user: 'bob' }));
      const taken = { annotations: { ...target.metadata.annotations, ...theirs } };
      expect(await apply(world.bob, target, 'bob', taken)).toMatchObject({ status: 200 });
      expect(stampsOf(await read(world, target))).toEqual(stampsOf(target));
      expect(await apply(world.bob, target, 'bob')).toMatchObject({ status: 200 });
      expect(stampsOf(await read(world, target))).toEqual(stampsOf(target));
    },
  );

  it('of a token keep no group that a group with quotes and commas only spells', async () => {
    const odd = ['x","admins', 'y\\","admins', 'admins\\'];
    const tom = await world.user('tom', [testers, ...odd]);
    const token = await create(tom, objectOf(directClusterEndpointTokens, { ttl: 600 }));
    const later = await world.user('tom', [testers, 'admins', 'x', 'y']);
    const rotated = { metadata: { annotations: { [annotations.rotate]: 'now' } } };
    const answer = await mergePatch(later, token, rotated);
    expect(answer.status).toBe(200);
    expect(JSON.parse(String(stampsOf(answer.body)[1]))).toEqual([testers, 'system:authenticated']);
  });
});

describe('the time from which a life is counted', async () => {
  const world = await admissionWorld();
  const creationTimestamp = '2099-01-01T00:00:00Z';
  const kinds: readonly (readonly [Resource, Record<string, unknown>])[] = [
    [ownedAccessKeys, { user: 'alice', ttl: 600 }],
    [directClusterEndpointTokens, { ttl: 600 }],
  ];

  it.each(kinds)('is not chosen by the one who creates or changes a $kind', async (resource, spec) => {
    const target = await create(world.alice, objectOf(resource, spec, { creationTimestamp }));
    expect(Date.parse(String(target.metadata['creationTimestamp']))).toBeLessThan(Date.now() + 60_000);
    await mergePatch(world.alice, target, { metadata: { creationTimestamp } });
    await put(world.alice, target, {}, { creationTimestamp });
    await apply(world.alice, target, 'alice', { creationTimestamp });
    const { metadata } = await read(world, target);
    expect(metadata['creationTimestamp']).toBe(target.metadata['creationTimestamp']);
  });
});
