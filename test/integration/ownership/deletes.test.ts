import { describe, expect, it } from 'vitest';
import {
  directClusterEndpointTokens,
  ownedAccessKeys,
  virtualClusterInstanceKubeConfigs,
} from '../../../src/api/resources.ts';
import { pathOf, unreadObjectOf } from '../admission/objects.ts';
import { admissionWorld, create } from '../admission/world.ts';
import { notTheirsToDelete, notTheirsToSee } from './answers.ts';
import { peopleOf } from './people.ts';
import { describeRows, type Row } from './rows.ts';

const kinds = [
  [ownedAccessKeys, { by: 'alice', spec: { user: 'alice' } }],
  [directClusterEndpointTokens, { by: 'alice', spec: {} }],
  [virtualClusterInstanceKubeConfigs, { by: 'alice', spec: { virtualClusterInstance: 'usable' } }],
] as const;

const remove = { verb: 'delete' } as const;
const removeAll = { verb: 'deletecollection' } as const;
const tryOne = { verb: 'delete', dryRun: true } as const;
const tryAll = { verb: 'deletecollection', dryRun: true } as const;

describeRows(
  'of every kind',
  kinds.flatMap(([resource, before]): Row[] => {
    const row = { resource, before };
    const what = `a ${resource.kind}`;
    return [
      ...(['mallory', 'carol', 'tina'] as const).map(
        (who): Row => ({
          ...row,
          who,
          does: `does not delete ${what} that is not theirs`,
          attempt: remove,
          answer: notTheirsToDelete,
        }),
      ),
      ...(['mallory', 'warden', 'alice'] as const).map(
        (who): Row => ({
          ...row,
          who,
          does: `does not read ${what} out of a dry-run delete`,
          attempt: tryOne,
          answer: notTheirsToSee,
        }),
      ),
      {
        ...row,
        who: 'warden',
        does: `does not read ${what} out of a dry-run deletecollection`,
        attempt: tryAll,
        answer: notTheirsToSee,
      },
      ...(['alice', 'holder', 'warden', 'root', 'argocd', 'operator', 'garbageCollector'] as const).map(
        (who): Row => ({ ...row, who, does: `deletes ${what}`, attempt: remove, answer: 'allowed' }),
      ),
      ...(['warden', 'root', 'namespaceController'] as const).map(
        (who): Row => ({
          ...row,
          who,
          does: `deletes ${what} with the collection`,
          attempt: removeAll,
          answer: 'allowed',
        }),
      ),
      { ...row, who: 'root', does: `may delete ${what} by a dry run`, attempt: tryOne, answer: 'allowed' },
    ];
  }),
);

describeRows('of keys', [
  {
    who: 'carol',
    does: 'deletes a key that she made for alice',
    resource: ownedAccessKeys,
    attempt: remove,
    before: { by: 'carol', spec: { user: 'alice' } },
    answer: 'allowed',
  },
  {
    who: 'alice',
    does: 'deletes a key that another made for her',
    resource: ownedAccessKeys,
    attempt: remove,
    before: { by: 'carol', spec: { user: 'alice' } },
    answer: 'allowed',
  },
  {
    who: 'alice',
    does: 'does not delete a key that another made below hers',
    resource: ownedAccessKeys,
    attempt: remove,
    before: { by: 'carol', spec: { accessKey: 'laptop' } },
    answer: notTheirsToDelete,
  },
  {
    who: 'tina',
    does: 'as a member of the team does not delete the key of the team',
    resource: ownedAccessKeys,
    attempt: remove,
    before: { by: 'carol', spec: { team: 'blue', scope: {} } },
    answer: notTheirsToDelete,
  },
  {
    who: 'blue',
    does: 'deletes the key of the team',
    resource: ownedAccessKeys,
    attempt: remove,
    before: { by: 'carol', spec: { team: 'blue', scope: {} } },
    answer: 'allowed',
  },
  {
    who: 'mallory',
    does: 'does not delete it once more while it is being deleted',
    resource: ownedAccessKeys,
    attempt: remove,
    before: { by: 'alice', spec: { user: 'alice' }, deleting: true },
    answer: notTheirsToDelete,
  },
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
