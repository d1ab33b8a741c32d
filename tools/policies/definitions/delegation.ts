import { inSpec, notExempt, oldSpec, privilegeChange, spec } from '../fragments.ts';
import { naming, type Validation, validating } from '../policy.ts';
import { cel, line, text } from '../text.ts';

const limit = 16;

/**
 * The rule for the group in one place of the list: two checks are as many as one expression can pay for, and so each message
 * can say which group it is without repeating a name.
 */
const mayGive = (place: number): Validation => {
  const group = `variables.groups[${place}]`;
  return {
    expression: cel`
      size(variables.groups) <= ${place.toString()} || ${group} in variables.requesterGroups
        || authorizer.group('').resource('groups').name(${group}).check('impersonate').allowed()
    `,
    ...naming(
      'ERR_POLICY_IMPERSONATE',
      line`
      spec.groups[${place.toString()}]: a group is given to a key only by a member of it or by a user with the verb impersonate on it;
      remove the group, or ask one of them
    `,
      { group },
    ),
  };
};

export const delegation = validating({
  name: 'latchkey-delegation',
  protects: 'security',
  about: text`
    An access key may speak for its requester, and for others that the requester may impersonate. Membership in a team does
    not count, because a key of the team outlives it. A key with \`accessKey\` and no identity has the identity of that key;
    the operator checks it. A key may have groups that the requester is in or may impersonate.
  `,
  operations: ['CREATE', 'UPDATE'],
  resources: ['ownedaccesskeys'],
  matchConditions: {
    // Most keys are for their requester alone: all else of this policy is left out then.
    'for-others': inSpec(cel`
      !(object.spec.?user.orValue('') in ['', request.userInfo.username])
        || (has(object.spec.team) && object.spec.team != '') || (has(object.spec.subject) && object.spec.subject != '')
        || (has(object.spec.groups) && object.spec.groups != [])
    `),
    'not-exempt': notExempt,
  },
  variables: {
    spec,
    oldSpec,
    privilegeChange,
    user: cel`variables.spec.?user.orValue('')`,
    team: cel`variables.spec.?team.orValue('')`,
    subject: cel`variables.spec.?subject.orValue('')`,
    groups: cel`
      !variables.privilegeChange || type(variables.spec[?'groups'].orValue([])) != list
        ? [] : variables.spec[?'groups'].orValue([])
    `,
    requesterGroups: cel`request.userInfo.?groups.orValue([])`,
  },
  validations: [
    {
      expression: cel`
        !variables.privilegeChange || variables.user == '' || variables.user == request.userInfo.username
          || authorizer.group('').resource('users').name(variables.user).check('impersonate').allowed()
      `,
      ...naming(
        'ERR_POLICY_IMPERSONATE',
        line`
        spec.user: a key for another user is made and widened by those with the verb impersonate on that user;
        ask one of them, or make a key of your own without spec.user
      `,
        { user: 'variables.user' },
      ),
    },
    {
      expression: cel`
        !variables.privilegeChange || variables.team == ''
          || (authorizer.group('').resource('users').name('team:' + variables.team).check('impersonate').allowed()
              && authorizer.group('').resource('groups').name('team:' + variables.team).check('impersonate').allowed())
      `,
      ...naming(
        'ERR_POLICY_IMPERSONATE',
        line`
        spec.team: a key for a team is made and widened by those with the verb impersonate on the user and on
        the group team:<team>, which its members do not have as such; ask one of them, or make a key of your own
        without spec.team
      `,
        { team: 'variables.team' },
      ),
    },
    {
      expression: cel`
        !variables.privilegeChange || variables.subject == ''
          || authorizer.group('').resource('users').name(variables.subject).check('impersonate').allowed()
      `,
      ...naming(
        'ERR_POLICY_IMPERSONATE',
        line`
        spec.subject: a key for a subject is made and widened by those with the verb impersonate on the user of
        that name; ask one of them, or make a key of your own without spec.subject
      `,
        { subject: 'variables.subject' },
      ),
    },
    // The schema says so too, but lets a longer list stand that came in before it did.
    {
      expression: cel`size(variables.groups) <= ${limit.toString()}`,
      ...naming('ERR_POLICY_TOO_LARGE', `spec.groups: there may be ${limit} at most; remove the others`),
    },
    ...Array.from({ length: limit }, (_, place) => mayGive(place)),
  ],
});
