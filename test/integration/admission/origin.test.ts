import { describe, expect, it } from 'vitest';
import { annotations } from '../../../src/api/names.ts';
import { ownedAccessKeys } from '../../../src/api/resources.ts';
import { objectOf, type TestObject } from './objects.ts';
import { mergePatch } from './requests.ts';
import { updateFlavours } from './update-flavours.ts';
import { admissionWorld, create, expectOk, read } from './world.ts';

const key = 'suppliedsuppliedsupplied';
const exchange = { tokens: [{ issuer: 'https://ci.example.com', claims: { sub: 'shop' } }] };
const originOf = ({ metadata }: TestObject) => metadata.annotations?.[annotations.origin];

describe('where a key comes from', async () => {
  const world = await admissionWorld();
  const made = async (spec: object, sent?: string): Promise<TestObject> => {
    const object = objectOf(ownedAccessKeys, { user: 'alice', ...spec });
    if (sent !== undefined) object.metadata.annotations = { [annotations.origin]: sent };
    return await create(world.alice, object);
  };

  it.each<[string, object, string | undefined, string]>([
    ['a new key', { key }, undefined, 'created'],
    ['one whose key is to be generated', {}, undefined, 'created'],
    ['one from a backup', { key }, 'created', 'restored'],
    ['one from a backup of what was restored', { key }, 'restored', 'restored'],
    ['a copy with any other text there', { key: `sha256:${'a'.repeat(64)}` }, '', 'restored'],
    ['a copy without a key', {}, 'created', 'created'],
    ['a trust from a backup', { exchange }, 'created', 'restored'],
  ])('is a mark of %s', async (_, spec, sent, expected) => {
    expect(originOf(await made(spec, sent))).toBe(expected);
  });

  describe.each(updateFlavours)('in an update by $name', ({ update }) => {
    const originAfter = async (stored: TestObject, change: (object: TestObject) => void): Promise<string> => {
      const answer = await update(world.alice, stored, change);
      expect(answer.status).toBe(200);
      return originOf(await read(world, stored)) ?? '';
    };
    const marked = (text: string) => (object: TestObject) => {
      object.metadata.annotations = { ...object.metadata.annotations, [annotations.origin]: text };
    };

    it('a new key keeps its mark, whatever stands there', async () => {
      const stored = await made({ key });
      expect(await originAfter(stored, marked('restored'))).toBe('created');
    });

    it('a restored key keeps its mark when the backup is applied once more', async () => {
      const stored = await made({ key }, 'created');
      expect(await originAfter(stored, marked('created'))).toBe('restored');
    });

    it('a restored object is as a new one when it gets another key', async () => {
      const stored = await made({ key }, 'created');
      const change = (object: TestObject) => {
        object.spec = { user: 'alice', key: `another-${key}` };
      };
      expect(await originAfter(stored, change)).toBe('created');
    });
  });

  it('a restored key keeps its mark when a tool puts the managedFields of the backup there, as Velero does', async () => {
    const stored = await made({ key }, 'created');
    const answer = await mergePatch(world.alice, stored, { metadata: { managedFields: [{}] } });
    expect(originOf(expectOk(answer))).toBe('restored');
  });

  it.each<[string, string | undefined]>([
    ['a new key gets its mark back', undefined],
    ['a restored key is as a new one', 'created'],
  ])('%s when somebody takes it off', async (_, sent) => {
    const stored = await made({ key }, sent);
    const taken = { metadata: { annotations: { [annotations.origin]: null } } };
    expect(originOf(expectOk(await mergePatch(world.alice, stored, taken)))).toBe('created');
  });
});
