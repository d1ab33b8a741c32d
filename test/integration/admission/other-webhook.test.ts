import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { annotations, finalizers, labels } from '../../../src/api/names.ts';
import { directClusterEndpointTokens, ownedAccessKeys } from '../../../src/api/resources.ts';
import { type ApiAnswer, contentTypes } from './api-client.ts';
import { type Forger, startForger } from './forger.ts';
import { objectOf, pathOf, uniqueName } from './objects.ts';
import { admissionWorld, create, read } from './world.ts';

const forgeries = {
  stamps: [
    {
      op: 'add',
      path: '/metadata/annotations',
      value: {
        [annotations.requester]: 'eve',
        [annotations.requesterGroups]: '["system:masters"]',
        [annotations.createdWith]: 'eves/1',
        seen: 'true',
      },
    },
    { op: 'add', path: '/metadata/finalizers', value: [] },
  ],
  label: [{ op: 'add', path: '/metadata/labels', value: { [labels.ephemeral]: 'true' } }],
};

describe('a mutating webhook of somebody else', async () => {
  const world = await admissionWorld();
  let forger: Forger;
  const createForged = async (forgery: keyof typeof forgeries): Promise<ApiAnswer> =>
    await world.alice.send('POST', pathOf(directClusterEndpointTokens), {
      body: objectOf(directClusterEndpointTokens, {}, { name: `${uniqueName(forger.target)}-${forgery}` }),
    });

  beforeAll(async () => {
    const options = { resource: directClusterEndpointTokens, operation: 'CREATE', forgeries } as const;
    forger = await startForger(world.plane, options);
  });
  afterAll(async () => await forger.stop());

  it('forges no stamp and takes no finalizer, because the policies have their turn again', async () => {
    const answer = await vi.waitFor(
      async () => {
        const created = await createForged('stamps');
        expect(created.body.metadata.annotations).toHaveProperty('seen');
        return created;
      },
      { timeout: 90_000, interval: 200 },
    );
    expect(answer.status).toBe(201);
    expect(answer.body.metadata.annotations).toMatchObject({ [annotations.requester]: 'alice' });
    expect(answer.body.metadata.annotations[annotations.requesterGroups]).not.toContain('masters');
    expect(answer.body.metadata.annotations).not.toHaveProperty(annotations.createdWith);
    expect(answer.body.metadata.finalizers).toEqual([finalizers.DirectClusterEndpointToken]);
  });

  it('cannot set the ephemeral label: it is taken off again', async () => {
    const answer = await createForged('label');
    expect({ status: answer.status, said: answer.body.message }).toEqual({ status: 201, said: undefined });
    expect(answer.body.metadata.labels ?? {}).not.toHaveProperty([labels.ephemeral]);
  });
});

describe('a mutating webhook of somebody else that changes updates', async () => {
  const world = await admissionWorld();
  let forger: Forger;
  beforeAll(async () => {
    forger = await startForger(world.plane, {
      resource: ownedAccessKeys,
      operation: 'UPDATE',
      forgeries: {
        spec: [{ op: 'add', path: '/spec/description', value: 'forged' }],
        labels: [{ op: 'add', path: '/metadata/labels/forged', value: 'true' }],
      },
    });
  });
  afterAll(async () => await forger.stop());

  it.each([['spec'], ['labels']])(
    'adds nothing of %s to what others may do with a key, because the result is judged as well',
    async (forgery) => {
      const name = `${uniqueName(forger.target)}-${forgery}`;
      const key = await create(world.alice, objectOf(ownedAccessKeys, { user: 'alice' }, { name }));
      const answer = await vi.waitFor(
        async () => {
          const off = await world.bob.send('PATCH', pathOf(ownedAccessKeys, name), {
            body: { spec: { disabled: true } },
            contentType: contentTypes.mergePatch,
            query: { dryRun: 'All' },
          });
          expect(off.status).toBe(403);
          return off;
        },
        { timeout: 90_000, interval: 200 },
      );
      expect(answer.body).toMatchObject({
        reason: 'Forbidden',
        message: expect.stringMatching(/denied request: spec, metadata: only the user that it speaks for/),
      });
      expect((await read(world, key)).spec).toEqual({ user: 'alice' });
    },
  );
});
