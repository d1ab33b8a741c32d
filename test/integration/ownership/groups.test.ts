import { describe, expect, it } from 'vitest';
import { until } from '../../../lab/operator/until.ts';
import { ownedAccessKeys } from '../../../src/api/resources.ts';
import type { ApiClient } from '../admission/api-client.ts';
import { pathOf, unreadObjectOf } from '../admission/objects.ts';
import { admissionWorld, create } from '../admission/world.ts';
import { grant, groupOf } from './grants.ts';
import { largestScope } from './largest-scope.ts';
import type { Person } from './people.ts';
import { type Content, describeRows, type Row } from './rows.ts';
import { by, changes, creationOf, flavours } from './shorthand.ts';

const resource = ownedAccessKeys;
const creating = creationOf(resource);
const plain = 'lk_plainplainplainplainplainplainplainplainplainplai';

const refusal = (index: number): readonly [403, string] => [
  403,
  `spec.groups[${index}]: a group is given to a key only by a member of it or by a user with the verb impersonate on it; remove the group, or ask one of them`,
];
const invalid: Row['answer'] = [422, /spec\.groups\[0\]/];

/** Somebody creates a key that speaks for them. */
const making = (who: Person, does: string, groups: readonly unknown[], answer: Row['answer']): Row =>
  creating(who, does, { groups }, answer);

describeRows('a key with groups', [
  making('mallory', 'gives no group that she is not in', ['devs'], refusal(0)),
  making('tina', 'gives no group by being in a team', ['ops'], refusal(0)),
  making('alice', 'gives no other group than hers', ['devs', 'ops'], refusal(1)),
  making('alice', 'gives no group whose name begins like hers', ['dev'], refusal(0)),
  making('alice', 'gives no group with the name of hers in capitals', ['Devs'], refusal(0)),
  making('alice', 'gives no group by the name of a wildcard', ['*'], refusal(0)),
  making('holder', 'gives no group that the request over her key did not come with', ['devs'], refusal(0)),
  making('root', 'gives no group although they run the platform', ['devs'], refusal(0)),
  making('carol', 'gives no group that she may not impersonate', ['devs', 'ops', 'admins'], refusal(2)),
  by('generateName', making('mallory', 'gives no group', ['devs'], refusal(0))),
  by('apply', making('root', 'gives no group', ['devs'], refusal(0))),
  making('alice', 'gives no 16th group that she is not in', [...Array(15).fill('devs'), 'ops'], refusal(15)),
  making('alice', 'gives no 17 groups', Array(17).fill('devs'), [422, /Too many: 17/]),
  {
    ...making('mallory', 'makes no key with groups below a key', ['devs'], [422, /spec\.groups needs/]),
    content: { spec: { accessKey: 'hers', groups: ['devs'] } },
  },
  making('alice', 'gives her group', ['devs'], 'allowed'),
  by('generateName', making('alice', 'gives her group', ['devs'], 'allowed')),
  making('alice', 'gives none', [], 'allowed'),
  making('carol', 'gives groups that she may impersonate', ['devs', 'ops'], 'allowed'),
  making('argocd', 'has no one to give a group to', ['devs'], [422, /the key has no identity/]),
  {
    ...by('apply', making('argocd', 'gives groups to a key for a user', [], 'allowed')),
    content: { spec: { user: 'alice', groups: ['devs', 'ops'] } },
  },
  making('master', 'gives any group', ['any-group'], 'allowed'),
]);

describeRows('names of groups', [
  making('quinn', 'gives the group with a quote in its name that she is in', ['de"vs'], 'allowed'),
  making('quinn', 'gives the group with a comma in its name that she is in', ['one,two'], 'allowed'),
  making('quinn', 'gives no group by the half of such a name', ['one'], refusal(0)),
  making('quinn', 'gives no group by the other half', ['two'], refusal(0)),
  making('quinn', 'gives no group by a name up to the quote', ['de'], refusal(0)),
  making('alice', 'gives no group by a name that ends the list in a stamp', ['devs","admins'], refusal(0)),
  making('alice', 'gives no two groups in one name', ['devs,ops'], refusal(0)),
  making('alice', 'gives no group by a name with a backslash', ['devs\\'], refusal(0)),
  making('alice', 'gives no group with a line feed in its name', ['devs\nops'], invalid),
  making('alice', 'gives no group with a null character in its name', ['devs\u0000'], invalid),
  making('alice', 'gives no group with a space at its end', ['devs '], invalid),
  making('alice', 'gives no group with a letter that only looks like one of hers', ['dеvs'], invalid),
  making('alice', 'gives no group without a name', [''], invalid),
  making('master', 'gives no group of administrators', ['system:masters'], invalid),
  making('alice', 'gives no group that everybody is in', ['system:authenticated'], invalid),
  making('master', 'gives no group of kubeadm', ['kubeadm:cluster-admins'], invalid),
  making('tina', 'gives no team that she is in', ['team:blue'], invalid),
  making('master', 'gives no group of ours', ['management.platform.sh:self-service'], invalid),
]);

const ownKey: Content = { spec: { key: 'her-own-key-of-twenty-characters' } };
const on: Content = { spec: { disabled: false } };
const off: Content = { spec: { displayName: 'old', disabled: true } };
const open: Content = { spec: { allowedNamespaces: ['default'] } };
const described: Content = { spec: { description: 'old', disabled: true } };
const prolonged: Content = { spec: { ttl: 90 } };
const carols = (groups: readonly string[], spec: object = {}) =>
  ({ by: 'carol', spec: { user: 'alice', groups, ...spec } }) as const;

describeRows('an update of a key with groups', [
  ...changes(resource, carols(['devs', 'ops']), [
    ['alice', 'PUT', 'sets no key of her own where she holds not all groups', ownKey, refusal(1)],
    ['holder', 'PUT', 'sets none over another key of hers either', ownKey, refusal(0)],
    ['alice', 'PUT', 'takes off a group that she does not hold', { spec: { groups: ['devs'] } }, 'allowed'],
    ['carol', 'PUT', 'prolongs a key that she made, with groups of hers', prolonged, 'allowed'],
  ]),
  ...changes(resource, { by: 'alice', spec: { user: 'alice', groups: ['devs'] } }, [
    ['alice', 'PUT', 'may not add a group to her key', { spec: { groups: ['devs', 'ops'] } }, refusal(1)],
  ]),
  ...changes(resource, carols(['ops'], { ttl: 60 }), [
    [
      'alice',
      'PUT',
      'may not prolong a key of hers with a group that she does not hold',
      prolonged,
      refusal(0),
    ],
  ]),
  ...changes(resource, carols(['ops']), [
    ['alice', 'PUT', 'renames and disables a key with a group that she does not hold', off, 'allowed'],
  ]),
  ...changes(resource, { by: 'argocd', spec: { user: 'root', groups: ['ops'] } }, [
    ['root', flavours, 'may not open a key with a group that they do not hold', open, refusal(0)],
    ['root', flavours, 'describes and disables a key with such a group', described, 'allowed'],
  ]),
]);

const otherTypes: Content = {
  spec: { user: { alice: true }, groups: 7, disabled: 'yes', scope: [] },
  metadata: { labels: null },
};

describeRows(
  'a key that was turned off, with a group that its user does not hold,',
  changes(resource, carols(['ops'], { disabled: true, scope: {} }), [
    ['alice', 'PUT', 'does not come back by disabled: false', on, refusal(0)],
    ['alice', 'PUT', 'stays turned off without disabled', { spec: { disabled: null } }, 'allowed'],
    ['alice', 'PUT', 'does not get another key', { spec: { key: plain, disabled: true } }, refusal(0)],
    ['alice', 'PUT', 'does not get another name of the group', { spec: { groups: ['Ops'] } }, refusal(0)],
    ['alice', 'PUT', 'comes back without the group', { spec: { groups: null, disabled: false } }, 'allowed'],
    ['alice', 'PUT', 'gets no text as disabled', { spec: { disabled: 'true' } }, [422, /spec\.disabled/]],
    ['mallory', 'PUT', 'gets no body whose parts have other types', otherTypes, 'not theirs'],
  ]),
);

const sixteen = Array.from({ length: 16 }, (_, index) => `limit-group-${index}`);

describe('sixteen groups of others, on the largest spec that there can be', async () => {
  const world = await admissionWorld();
  const roles = sixteen.map((name) => `ownership-tests-may-${name}`);
  await grant(world, [
    ...sixteen.map((name, index) =>
      groupOf(roles[index] ?? '', [
        { apiGroups: [''], resources: ['groups'], resourceNames: [name], verbs: ['impersonate'] },
        { apiGroups: [''], resources: ['users'], resourceNames: ['team:large'], verbs: ['impersonate'] },
      ]),
    ),
    groupOf('ownership-tests-may-team', [
      { apiGroups: [''], resources: ['groups'], resourceNames: ['team:large'], verbs: ['impersonate'] },
      { apiGroups: ['management.platform.sh'], resources: ['*'], verbs: ['create', 'update', 'get'] },
    ]),
  ]);
  const wide = await world.user('wide', [...roles, 'ownership-tests-may-team']);
  const without = await world.user('wide', ['ownership-tests-may-team', ...roles.slice(0, -1)]);
  const key = unreadObjectOf(resource, { team: 'large', groups: sixteen, scope: largestScope() });

  it('are given by one who may impersonate each of them by another role, and changed', async () => {
    await untilGranted(wide);
    const created = await create(wide, key);
    const body = { ...created, spec: { ...created.spec, scope: largestScope('x') } };
    const answer = await wide.send('PUT', pathOf(resource, key.metadata.name), { body });
    expect(answer).toMatchObject({
      status: 200,
      body: { spec: { scope: largestScope('x'), groups: sixteen } },
    });
  });

  it('are described and disabled by one who may impersonate only fifteen of them, and not changed', async () => {
    await untilGranted(wide);
    const created = await create(wide, {
      ...key,
      metadata: { ...key.metadata, name: `${key.metadata.name}-2` },
    });
    const path = pathOf(resource, created.metadata.name);
    const spec = { ...created.spec, description: 'old', disabled: true };
    expect(await without.send('PUT', path, { body: { ...created, spec } })).toMatchObject({ status: 200 });
    const changed = { ...created.spec, scope: largestScope('x') };
    const query = { dryRun: 'All' };
    const { metadata } = (await world.admin.send('GET', path)).body;
    const refused = await without.send('PUT', path, { body: { ...created, metadata, spec: changed }, query });
    expect(refused).toMatchObject({
      status: 403,
      body: { message: expect.stringContaining(refusal(15)[1]) },
    });
  });

  /** The API server knows a role a moment after it was made. */
  async function untilGranted(client: ApiClient): Promise<void> {
    const attempt = async () => {
      const { metadata: _, ...unnamed } = key;
      const body = { ...unnamed, metadata: { generateName: 'limit-' } };
      return (await client.send('POST', pathOf(resource), { body, query: { dryRun: 'All' } })).status === 201;
    };
    await until('the roles are known', attempt);
  }
});
