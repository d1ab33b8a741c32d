import { describe, expect, it } from 'vitest';
import { groups, labels } from '../../../src/api/names.ts';
import { ownedAccessKeys } from '../../../src/api/resources.ts';
import { credentialKinds, objectOf, type TestObject } from './objects.ts';
import { updateFlavours } from './update-flavours.ts';
import { admissionWorld, create, read, testers } from './world.ts';

const labelOf = (object: TestObject): string | undefined => object.metadata.labels?.[labels.ephemeral];

describe('the ephemeral label', async () => {
  const world = await admissionWorld();
  const viaGateway = await world.user('alice', [testers, groups.selfService]);

  describe.each(credentialKinds)('on a $kind', (resource) => {
    it.each([['true'], ['false'], ['']])(
      'is removed when an ordinary user creates it as %j',
      async (value) => {
        const object = objectOf(resource, {}, { labels: { [labels.ephemeral]: value, keep: 'me' } });
        const created = await create(world.alice, object);
        expect(labelOf(created)).toBeUndefined();
        expect(created.metadata.labels['keep']).toBe('me');
      },
    );

    it('is removed when the administrator creates it', async () => {
      const object = objectOf(resource, { user: 'alice' }, { labels: { [labels.ephemeral]: 'true' } });
      expect(labelOf(await create(world.admin, object))).toBeUndefined();
    });

    it.each([[undefined], ['true'], ['false']])(
      'is true for the self-service group that sent %j',
      async (value) => {
        const sent = value === undefined ? {} : { [labels.ephemeral]: value };
        expect(labelOf(await create(viaGateway, objectOf(resource, {}, { labels: sent })))).toBe('true');
      },
    );
  });

  it.each(['kubectl.kubernetes.io/last-applied-configuration', 'kapp.k14s.io/original'])(
    'is not set where a tool wrote %s, which says that the object is declared',
    async (annotation) => {
      const annotations = { [annotation]: '{}' };
      const sent = { [labels.ephemeral]: 'true' };
      const created = await create(viaGateway, objectOf(ownedAccessKeys, {}, { annotations, labels: sent }));
      expect(labelOf(created)).toBeUndefined();
    },
  );

  it('is not set for the group of server-side apply', async () => {
    const applying = await world.user('alice', [testers, groups.selfServiceApply]);
    expect(labelOf(await create(applying, objectOf(ownedAccessKeys)))).toBeUndefined();
  });

  it('is set on an object without any label', async () => {
    const object = objectOf(ownedAccessKeys);
    const { labels: _, ...metadata } = object.metadata;
    const created = await create(viaGateway, { ...object, metadata } as TestObject);
    expect(created.metadata.labels).toEqual({ [labels.ephemeral]: 'true' });
  });

  describe.each(updateFlavours)('by $name', ({ update }) => {
    it.each([
      ['is not added to a declared object', world.alice],
      ['is not added to a declared object by the self-service group', viaGateway],
    ])('%s', async (_, client) => {
      const created = await create(world.alice, objectOf(ownedAccessKeys));
      const answer = await update(client, created, (object) => {
        object.metadata.labels = { ...object.metadata.labels, [labels.ephemeral]: 'true', marker: 'set' };
      });
      expect(answer.status).toBe(200);
      const stored = await read(world, created);
      expect(labelOf(stored)).toBeUndefined();
      expect(stored.metadata.labels['marker']).toBe('set');
    });

    it.each([
      ['dropped', undefined],
      ['changed', 'false'],
    ])('stays on an object made through the gateway when it is %s', async (_, value) => {
      const created = await create(viaGateway, objectOf(ownedAccessKeys));
      const answer = await update(world.alice, created, (object) => {
        const { [labels.ephemeral]: __, ...others } = object.metadata.labels;
        object.metadata.labels = value === undefined ? others : { ...others, [labels.ephemeral]: value };
      });
      expect(answer.status).toBe(200);
      expect(labelOf(await read(world, created))).toBe('true');
    });
  });
});
