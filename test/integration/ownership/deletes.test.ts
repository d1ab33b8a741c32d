import { describe, expect, it } from 'vitest';
import {
  directClusterEndpointTokens,
  ownedAccessKeys,
  virtualClusterInstanceKubeConfigs,
} from '../../../src/api/resources.ts';
import { pathOf, unreadObjectOf } from '../admission/objects.ts';
import { admissionWorld, create } from '../admission/world.ts';
import { notTheirsToDelete, notTheirsToSee } from './answers.ts';
import { type Person, peopleOf } from './people.ts';
import { describeRows, type Row } from './rows.ts';
import { deletes } from './shorthand.ts';

const kinds = [
  [ownedAccessKeys, { by: 'alice', spec: { user: 'alice' } }],
  [directClusterEndpointTokens, { by: 'alice', spec: {} }],
  [virtualClusterInstanceKubeConfigs, { by: 'alice', spec: { virtualClusterInstance: 'usable' } }],
] as const;

const remove = { verb: 'delete' } as const;
const removeAll = { verb: 'deletecollection' } as const;
const tryOne = { verb: 'delete', dryRun: true } as const;
const tryAll = { verb: 'deletecollection', dryRun: true } as const;
const deleters = ['alice', 'holder', 'warden', 'root', 'argocd', 'operator', 'garbageCollector'] as const;

/** People, and the attempt of each of them on an object of alice. */
const attempts: readonly (readonly [readonly Person[], string, Row['attempt'], Row['answer']])[] = [
  [['mallory', 'carol', 'tina'], 'does not delete what is not theirs', remove, notTheirsToDelete],
  [['mallory', 'warden', 'alice'], 'reads nothing out of a dry-run delete', tryOne, notTheirsToSee],
  [['warden'], 'reads nothing out of a dry-run deletecollection', tryAll, notTheirsToSee],
  [deleters, 'deletes it', remove, 'allowed'],
  [['warden', 'root', 'namespaceController'], 'deletes it with the collection', removeAll, 'allowed'],
  [['root'], 'may delete it by a dry run', tryOne, 'allowed'],
];

describeRows(
  'of every kind',
  kinds.flatMap(([resource, before]) =>
    attempts.flatMap(([people, does, attempt, answer]) =>
      people.map((who) => ({ who, does: `${does}: ${resource.kind}`, resource, attempt, before, answer })),
    ),
  ),
);

const belowHers = { by: 'carol', spec: { accessKey: 'laptop' } } as const;
const ofTheTeam = { by: 'carol', spec: { team: 'blue', scope: {} } } as const;
const dying = { by: 'alice', spec: { user: 'alice' }, deleting: true } as const;

describeRows('of keys', [
  ...deletes(ownedAccessKeys, { by: 'carol', spec: { user: 'alice' } }, [
    ['carol', 'deletes a key that she made for alice', 'allowed'],
    ['alice', 'deletes a key that another made for her', 'allowed'],
  ]),
  ...deletes(ownedAccessKeys, belowHers, [
    ['alice', 'does not delete a key that another made below hers', notTheirsToDelete],
  ]),
  ...deletes(ownedAccessKeys, ofTheTeam, [
    ['tina', 'as a member of the team does not delete the key of the team', notTheirsToDelete],
    ['blue', 'deletes the key of the team', 'allowed'],
  ]),
  ...deletes(ownedAccessKeys, dying, [
    ['mallory', 'does not delete it once more while it is being deleted', notTheirsToDelete],
  ]),
]);

/** A policy that lets a delete pass when it fails must not be made to fail. */
describe('a user whose name takes long to compare', async () => {
  const world = await admissionWorld();
  const people = await peopleOf(world);

  it.each([
    ['of a user', 'x'],
    ['of a team', 'team:x'],
  ])('deletes nothing of others: the name %s', async (_, start) => {
    const object = await create(people.alice, unreadObjectOf(ownedAccessKeys, { user: 'alice' }));
    const client = world.admin.withHeaders({
      'impersonate-user': start.padEnd(12_000, 'x'),
      'impersonate-group': 'ownership-tests-everyone',
    });
    const answer = await client.send('DELETE', pathOf(ownedAccessKeys, object.metadata.name));
    expect(answer).toMatchObject({
      status: 403,
      body: { message: expect.stringContaining(notTheirsToDelete[1]) },
    });
  });
});
