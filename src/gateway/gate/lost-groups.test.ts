import { expect, it } from 'vitest';
import { lostGroups } from './lost-groups.ts';

const record = {
  kind: 'OwnedAccessKey',
  requester: { user: 'alice', groups: ['dev', 'ops', 'qa', 'web', 'system:authenticated'] },
} as const;
const identity = { user: 'alice', groups: [] };

it('the holder of a key without groups is told which ones its maker had', () => {
  expect(lostGroups({ record, identity })).toBe(
    'the access key has none of the groups of alice (dev, ops, qa, ...), nor the rights that come by them; a new key gets those that its spec.groups names',
  );
});

it.each([
  ['one group', ['dev'], 'dev'],
  ['five groups', ['a', 'b', 'c', 'd', 'e'], 'a, b, c, ...'],
])('the holder of a key with %s is told which ones', (_, groups, named) => {
  const told = `this key carries the groups ${named}; rights that come by other groups are not in it`;
  expect(lostGroups({ record, identity: { user: 'alice', groups } })).toBe(told);
  const child = { ...record, accessKey: 'parent' };
  expect(lostGroups({ record: child, identity: { user: 'carol', groups } })).toBe(told);
});

it.each([
  ['was made by somebody else', { record, identity: { user: 'carol', groups: [] } }],
  ['is below another key', { record: { ...record, accessKey: 'parent' }, identity }],
  ['is a token', { record: { ...record, kind: 'DirectClusterEndpointToken' }, identity }],
  [
    'is a token with groups',
    {
      record: { ...record, kind: 'DirectClusterEndpointToken' },
      identity: { user: 'alice', groups: ['dev'] },
    },
  ],
  [
    'was made by one without groups',
    { record: { ...record, requester: { user: 'alice', groups: ['system:authenticated'] } }, identity },
  ],
  ['does not say who made it', { record: { kind: 'OwnedAccessKey' }, identity }],
] as const)('nothing is said of a credential that %s', (_, verdict) => {
  expect(lostGroups(verdict)).toBeUndefined();
});
