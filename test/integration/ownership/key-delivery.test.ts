import { describe, expect, it } from 'vitest';
import { groups } from '../../../src/api/names.ts';
import {
  ownedAccessKeys as keys,
  directClusterEndpointTokens as tokens,
} from '../../../src/api/resources.ts';
import { hashOfOwnKey, objectOf, pathOf } from '../admission/objects.ts';
import { admissionWorld, create, read, writers, writeStatus } from '../admission/world.ts';
import { peopleOf } from './people.ts';
import { type Content, describeRows } from './rows.ts';
import { by, changes, creationOf } from './shorthand.ts';

const refusal =
  'spec.key: you may not get this key, so you would never see what Latchkey generates; set spec.secretRef to a Secret that you may read, or spec.key to sha256: and the SHA-256 of a key of your own';
const refused = [403, refusal] as const;

const creating = creationOf(keys);
const secretRef = { namespace: 'default', name: 'mine' };
const noKey = { key: undefined };
const hash = hashOfOwnKey();

describeRows('a key that Latchkey is to generate', [
  creating('mallory', 'gets none that she could not read', noKey, refused),
  creating('mallory', 'gets none by an empty key', { key: '' }, refused),
  creating('mallory', 'gets none below a key', { ...noKey, accessKey: 'hers' }, refused),
  creating('mallory', 'gets none that is disabled', { ...noKey, disabled: true }, refused),
  by('generateName', creating('mallory', 'gets none under a name of the server', noKey, refused)),
  creating('carol', 'makes none for somebody else', { ...noKey, user: 'alice' }, refused),
  creating('holder', 'gets none by a request that the gateway has not made hers', noKey, refused),
  creating('mallory', 'sends the hash of a key of her own', { key: hash }, 'allowed'),
  creating('mallory', 'sends a key of her own', { key: 'a-key-that-mallory-made' }, 'allowed'),
  creating('keeper', 'has it written to a Secret', { secretRef }, 'allowed'),
  creating('root', 'reads it in the object', noKey, 'allowed'),
  by('generateName', creating('root', 'reads it in the object', noKey, 'allowed')),
  by('apply', creating('root', 'reads it in the object', noKey, 'allowed')),
  creating('argocd', 'reads what it declares for others', { ...noKey, user: 'ci' }, 'allowed'),
]);

const ofBefore = { by: 'argocd', spec: { ...noKey, user: 'mallory', ttl: 3600 } } as const;
const without: Content = { spec: { key: null } };
const toSecret: Content = { spec: { key: null, secretRef } };
const toHash: Content = { spec: { secretRef: null, key: hash } };
const off: Content = { spec: { key: null, disabled: true } };

describeRows('a change after which Latchkey would generate a key', [
  ...changes(keys, { by: 'mallory', spec: { key: hash } }, [
    ['mallory', 'PUT', 'drops no key that she sent', without, refused],
    ['mallory', 'PUT', 'empties no key that she sent', { spec: { key: '' } }, refused],
    ['mallory', 'PUT', 'drops none by disabling', off, refused],
    ['mallory', 'PUT', 'disables it as it is', { spec: { disabled: true } }, 'allowed'],
    ['mallory', 'PUT', 'sends another hash', { spec: { key: hashOfOwnKey() } }, 'allowed'],
  ]),
  ...changes(keys, { by: 'keeper', spec: { key: hash } }, [
    ['keeper', 'PUT', 'moves from a hash to a Secret', toSecret, 'allowed'],
  ]),
  ...changes(keys, { by: 'keeper', spec: { secretRef } }, [
    ['keeper', 'PUT', 'moves from a Secret to a hash', toHash, 'allowed'],
    ['keeper', 'PUT', 'leaves secretRef out, which stays', { spec: { secretRef: null } }, 'allowed'],
  ]),
  ...changes(keys, { by: 'root', spec: { key: hash } }, [
    ['root', 'PUT', 'drops a key that they sent', without, 'allowed'],
  ]),
  ...changes(keys, ofBefore, [
    ['mallory', 'PUT', 'changes a key as it was stored before this rule', { spec: { ttl: 60 } }, 'allowed'],
  ]),
]);

describeRows('a token or kubeconfig that the requester may not get', [
  creationOf(tokens)('mallory', 'is made all the same', { ttl: 60 }, 'allowed'),
  ...changes(tokens, { by: 'keeper', spec: { ttl: 60, accessKey: 'hers', secretRef } }, [
    ['keeper', 'PUT', 'is changed when the Secret is dropped', { spec: { secretRef: null } }, 'allowed'],
  ]),
]);

describe('for a key that Latchkey generates', async () => {
  const world = await admissionWorld();
  const { mallory } = await peopleOf(world);

  it.each([groups.selfService, groups.selfServiceApply])(
    'the gateway answers members of %s',
    async (group) => {
      const viaGateway = await world.user('alice', [writers, group]);
      for (const [resource, spec] of [
        [keys, { ...noKey, ttl: 60 }],
        [tokens, { ttl: 60 }],
      ] as const) {
        const answer = await viaGateway.send('POST', pathOf(resource), { body: objectOf(resource, spec) });
        expect(answer.status).toBe(201);
      }
    },
  );

  it('leaving it out of a replacement keeps it', async () => {
    const key = 'a-key-that-the-operator-made';
    const made = await create(mallory, objectOf(keys, { key }));
    const confirmed = await writeStatus(world, made, { keySource: 'Generated' });
    const { key: _, ...spec } = confirmed.spec ?? {};
    const body = { ...confirmed, spec };
    expect(await mallory.send('PUT', pathOf(keys, made.metadata.name), { body })).toMatchObject({
      status: 200,
    });
    expect((await read(world, made)).spec).toMatchObject({ key });
  });
});
