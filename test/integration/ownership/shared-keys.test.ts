import { directClusterEndpointTokens, ownedAccessKeys } from '../../../src/api/resources.ts';
import { largestRules } from './largest-spec.ts';
import { describeRows, type Flavour, type Row } from './rows.ts';

const refused = [
  422,
  /spec\.scope: Required value: a key with spec\.team or spec\.subject needs one; name what the key may be used for, or write \{\} to allow nothing/,
] as const;

const wide = { projects: [{ project: '*' }], clusters: [{ cluster: '*' }] };
const shared = [
  ['a team', { team: 'blue' }],
  ['a subject', { subject: 'robot' }],
] as const;

/** `master` may speak for everybody. */
const creation = (does: string, spec: Record<string, unknown>, answer: Row['answer']): Row => ({
  who: 'master',
  does,
  resource: ownedAccessKeys,
  attempt: { verb: 'create' },
  content: { spec: { ttl: 60, scope: undefined, ...spec } },
  answer,
});

describeRows('a key that is used by more hands than one', [
  ...shared.flatMap(([holder, spec]) => [
    creation(`makes none for ${holder} without a scope`, spec, refused),
    creation(
      `makes none for ${holder} with nothing but the role of a user`,
      { ...spec, type: 'User' },
      refused,
    ),
  ]),
  { ...creation('makes none by server-side apply', { team: 'blue' }, refused), attempt: apply() },
  {
    ...creation('makes none with generateName', { team: 'blue' }, refused),
    attempt: { verb: 'create', flavour: 'generateName' },
  },
  creation('makes none that is disabled for now', { team: 'blue', disabled: true }, refused),
  creation('makes none below another key', { team: 'blue', accessKey: 'parent' }, refused),
  creation('makes one for no team and a group', { user: 'alice', team: '', groups: ['devs'] }, 'allowed'),
  creation('makes one for a user in a further group', { user: 'alice', groups: ['devs'] }, 'allowed'),
  {
    ...creation(
      'makes one of her own in a group that she is in',
      { user: 'alice', groups: ['devs'] },
      'allowed',
    ),
    who: 'alice',
  },
  creation('is refused a ttl beyond all numbers before that', { team: 'blue', ttl: '9223372036854775807' }, [
    422,
    /spec\.ttl/,
  ]),
  ...shared.map(([holder, spec]) =>
    creation(`makes one for ${holder} with a scope`, { ...spec, scope: wide }, 'allowed'),
  ),
  creation('makes one with an empty scope, which allows nothing', { team: 'blue', scope: {} }, 'allowed'),
  creation(
    'makes none with a scope that is null, which a rule cannot tell from none',
    { team: 'blue', scope: null },
    refused,
  ),
  creation('makes one for a user without a scope', { user: 'alice' }, 'allowed'),
  creation('makes one for a user with an empty list of groups', { user: 'alice', groups: [] }, 'allowed'),
  creation('makes one with the largest scope', { team: 'blue', scope: { rules: largestRules } }, 'allowed'),
  { ...creation('makes a token without a scope', {}, 'allowed'), resource: directClusterEndpointTokens },
]);

function apply() {
  return { verb: 'create', flavour: 'apply' } as const;
}

const ofTeam = { team: 'blue', ttl: 60, scope: wide };
const update = (
  does: string,
  content: Row['content'],
  answer: Row['answer'],
  flavour: Flavour = 'PUT',
): Row => ({
  who: 'master',
  does,
  resource: ownedAccessKeys,
  before: { by: 'master', spec: ofTeam },
  attempt: { verb: 'update', flavour },
  ...(content === undefined ? {} : { content }),
  answer,
});
const groups = { spec: { groups: ['devs'] } };
const ofUser = { by: 'master', spec: { user: 'alice', ttl: 60 } } as const;

describeRows('the scope of such a key', [
  update('is not lifted by PUT', { spec: { scope: null } }, refused),
  update('is not lifted by a merge patch', { spec: { scope: null } }, refused, 'merge patch'),
  {
    ...update('is not lifted by a JSON patch', undefined, refused, 'JSON patch'),
    patch: [{ op: 'remove', path: '/spec/scope' }],
  },
  update('is not lifted while the key is disabled', { spec: { scope: null, disabled: true } }, refused),
  { ...update('is not needed before a key of a user gets a group', groups, 'allowed'), before: ofUser },
  update('becomes another one', { spec: { scope: {} } }, 'allowed'),
  {
    ...update('is lifted from a key with groups', { spec: { scope: null } }, 'allowed'),
    before: { by: 'master', spec: { user: 'alice', ttl: 60, groups: ['devs'], scope: wide } },
  },
  {
    ...update('comes together with the groups', { spec: { groups: ['devs'], scope: wide } }, 'allowed'),
    before: ofUser,
  },
  update('stays when the key is disabled', { spec: { disabled: true } }, 'allowed', 'merge patch'),
]);
