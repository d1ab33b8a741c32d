import { directClusterEndpointTokens, ownedAccessKeys } from '../../../src/api/resources.ts';
import { largestRules } from './largest-spec.ts';
import type { Person } from './people.ts';
import { type Content, describeRows, type Row } from './rows.ts';
import { by, changes, creationOf, type Spec } from './shorthand.ts';

const refused = [
  422,
  /spec\.scope: Required value: a key with spec\.team or spec\.subject needs one; name what the key may be used for, or write \{\} to allow nothing/,
] as const;

const wide = { projects: [{ project: '*' }], clusters: [{ cluster: '*' }] };
const shared = [
  ['a team', { team: 'blue' }],
  ['a subject', { subject: 'robot' }],
] as const;

/** Without a scope, unless it is given. `master` may speak for everybody. */
const making = (does: string, spec: Spec, answer: Row['answer'], who: Person = 'master'): Row =>
  creationOf(ownedAccessKeys)(who, does, { ttl: 60, scope: undefined, ...spec }, answer);
const [blue, dev] = [{ team: 'blue' }, { user: 'alice', groups: ['devs'] }];
const tooLong = { ...blue, ttl: '9223372036854775807' };

describeRows('a key that is used by more hands than one', [
  ...shared.flatMap(([holder, spec]) => [
    making(`makes none for ${holder} without a scope`, spec, refused),
    making(`makes none for ${holder} with only the role of a user`, { ...spec, type: 'User' }, refused),
    making(`makes one for ${holder} with a scope`, { ...spec, scope: wide }, 'allowed'),
  ]),
  by('apply', making('makes none', blue, refused)),
  by('generateName', making('makes none', blue, refused)),
  making('makes none that is disabled for now', { ...blue, disabled: true }, refused),
  making('makes none below another key', { ...blue, accessKey: 'parent' }, refused),
  making('makes one for no team and a group', { ...dev, team: '' }, 'allowed'),
  making('makes one for a user in a further group', dev, 'allowed'),
  making('makes one of her own in a group that she is in', dev, 'allowed', 'alice'),
  making('is refused a ttl beyond all numbers before that', tooLong, [422, /spec\.ttl/]),
  making('makes one with an empty scope, which allows nothing', { ...blue, scope: {} }, 'allowed'),
  making('makes none with null, which a rule cannot tell from none', { ...blue, scope: null }, refused),
  making('makes one for a user without a scope', { user: 'alice' }, 'allowed'),
  making('makes one for a user with an empty list of groups', { user: 'alice', groups: [] }, 'allowed'),
  making('makes one with the largest scope', { ...blue, scope: { rules: largestRules } }, 'allowed'),
  { ...making('makes a token without a scope', {}, 'allowed'), resource: directClusterEndpointTokens },
]);

const lifted: Content = { spec: { scope: null } };
const withGroup: Content = { spec: { groups: ['devs'] } };
const withBoth: Content = { spec: { groups: ['devs'], scope: wide } };
const turnedOff: Content = { spec: { scope: null, disabled: true } };
const ofTeam = { by: 'master', spec: { team: 'blue', ttl: 60, scope: wide } } as const;
const ofUser = { by: 'master', spec: { user: 'alice', ttl: 60 } } as const;
const ofGroup = { by: 'master', spec: { ...ofUser.spec, groups: ['devs'], scope: wide } } as const;

describeRows('the scope of such a key', [
  ...changes(ownedAccessKeys, ofTeam, [
    ['master', ['PUT', 'merge patch'], 'is not lifted', lifted, refused],
    ['master', 'PUT', 'is not lifted while the key is disabled', turnedOff, refused],
    ['master', 'PUT', 'becomes another one', { spec: { scope: {} } }, 'allowed'],
    ['master', 'merge patch', 'stays when the key is disabled', { spec: { disabled: true } }, 'allowed'],
  ]),
  {
    ...{ who: 'master', does: 'is not lifted by a JSON patch', resource: ownedAccessKeys, before: ofTeam },
    attempt: { verb: 'update', flavour: 'JSON patch' },
    patch: [{ op: 'remove', path: '/spec/scope' }],
    answer: refused,
  },
  ...changes(ownedAccessKeys, ofUser, [
    ['master', 'PUT', 'is not needed before a key of a user gets a group', withGroup, 'allowed'],
    ['master', 'PUT', 'comes together with the groups', withBoth, 'allowed'],
  ]),
  ...changes(ownedAccessKeys, ofGroup, [
    ['master', 'PUT', 'is lifted from a key with groups', lifted, 'allowed'],
  ]),
]);
