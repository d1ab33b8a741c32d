import { expect, it } from 'vitest';
import type { LoginMapping } from '../../api/trusted-issuer.ts';
import { loginOf } from './login.ts';

const url = 'https://issuer.example.com';
const plain: LoginMapping = { clientID: 'cli', username: { claim: 'sub', prefix: '' }, ttl: 600 };
const withGroups = (more: object = {}): LoginMapping => ({
  ...plain,
  groups: { claim: 'groups', prefix: '', ...more },
});
const many = (count: number) => Array.from({ length: count }, (_, index) => `g${index}`);

it.each<[string, LoginMapping, object, object]>([
  ['the subject', plain, {}, { user: 'alice', groups: [] }],
  [
    'a prefix and a claim',
    { ...plain, username: { claim: 'name', prefix: 'site:' } },
    { name: 'al' },
    { user: 'site:al' },
  ],
  [
    'a verified address',
    { ...plain, username: { claim: 'email', prefix: '' } },
    { email: 'a@b.c', email_verified: true },
    { user: 'a@b.c' },
  ],
  ['no group where no claim is mapped', plain, { groups: ['dev'] }, { groups: [] }],
  ['no group where the token has none', withGroups(), {}, { groups: [] }],
  [
    'groups with a prefix',
    withGroups({ prefix: 'site:' }),
    { groups: ['dev', 'ops'] },
    { groups: ['site:dev', 'site:ops'] },
  ],
  ['one group as text', withGroups(), { groups: 'dev' }, { groups: ['dev'] }],
  ['a group once', withGroups(), { groups: ['dev', 'dev'] }, { groups: ['dev'] }],
  [
    'the groups that are allowed',
    withGroups({ allowed: ['dev', 'shop-*'] }),
    { groups: ['dev', 'devs', 'shop-a', 'shop'] },
    { groups: ['dev', 'shop-a'] },
  ],
  [
    'groups that are not allowed as if they were not there',
    withGroups({ allowed: ['dev'] }),
    { groups: ['system:masters', 'dev'] },
    { groups: ['dev'] },
  ],
  ['sixteen groups', withGroups(), { groups: many(16) }, { groups: many(16) }],
  [
    'sixteen of a hundred',
    withGroups({ allowed: ['g1', 'g2'] }),
    { groups: many(100) },
    { groups: ['g1', 'g2'] },
  ],
  [
    'a reserved name behind a prefix',
    withGroups({ prefix: 'site:' }),
    { groups: ['system:masters'] },
    { groups: ['site:system:masters'] },
  ],
])('a token gives %s', (_, mapping, claims, expected) => {
  expect(loginOf({ sub: 'alice', ...claims }, mapping, url)).toMatchObject(expected);
});

it.each<[string, LoginMapping, object, string]>([
  [
    'an address that is not verified',
    { ...plain, username: { claim: 'email', prefix: '' } },
    { email: 'a@b.c' },
    'not verified',
  ],
  [
    'an address that is verified as text',
    { ...plain, username: { claim: 'email', prefix: '' } },
    { email: 'a@b.c', email_verified: 'true' },
    'not verified',
  ],
  [
    'a reserved user',
    plain,
    { sub: 'system:admin' },
    'the user name "system:admin" begins with a reserved prefix',
  ],
  [
    'a reserved user made of prefix and name',
    { ...plain, username: { claim: 'sub', prefix: 'system' } },
    { sub: ':x' },
    'reserved',
  ],
  [
    'a reserved group',
    withGroups(),
    { groups: ['dev', 'system:masters'] },
    'the group "system:masters" begins with a reserved prefix',
  ],
  ['a group of ours', withGroups(), { groups: ['management.platform.sh:self-service'] }, 'reserved'],
  ['a group beyond ASCII', withGroups(), { groups: ['d\u00e9v'] }, 'is not printable ASCII'],
  ['a seventeenth group', withGroups(), { groups: many(17) }, 'the group "g16" is one more than the 16'],
  ['a hundred and one groups', withGroups({ allowed: ['g1'] }), { groups: many(101) }, '101 groups'],
])('a token with %s gives no one', (_, mapping, claims, problem) => {
  expect(loginOf({ sub: 'alice', ...claims }, mapping, url)).toEqual({
    problem: expect.stringContaining(problem),
  });
});

it('the identity holds what the reference has, and nothing of other types', () => {
  const claims = {
    ...{ sub: 'subject', name: 'al', preferred_username: 'Al', email: 'a@b.c', email_verified: false },
    ...{ groups: ['dev', 'staff'], at_hash: 'x', nonce: 'y' },
  };
  const mapping: LoginMapping = {
    ...plain,
    username: { claim: 'name', prefix: 'site:' },
    groups: { claim: 'groups', prefix: 'site:', allowed: ['dev'] },
  };
  expect(loginOf(claims, mapping, url)).toMatchObject({
    identity: {
      ...{
        userId: 'subject',
        username: 'site:al',
        preferredUsername: 'Al',
        email: 'a@b.c',
        emailVerified: false,
      },
      ...{ groups: ['dev'], connector: url },
    },
  });
  const odd = { sub: 's', name: 'al', preferred_username: 7, email: ['x'], email_verified: 'yes' };
  expect(loginOf(odd, { ...mapping, groups: withGroups().groups as never }, url)).toEqual({
    ...{ user: 'site:al', groups: [] },
    identity: { userId: 's', username: 'site:al', groups: [], connector: url },
  });
});
