import { notExempt, oldSpec, privilegeChange, spec } from '../fragments.ts';
import { validating } from '../policy.ts';
import { cel, line, text } from '../text.ts';

export const delegation = validating({
  name: 'latchkey-delegation',
  about: text`
    Whom an access key may speak for: whoever makes it, and otherwise only those for whom the requester may speak anyway, by
    the verb impersonate. Being in a team does not count, because a key of the team outlives the membership. A key with
    \`accessKey\` and no identity speaks for whom that key speaks for; the operator judges it.
  `,
  operations: ['CREATE', 'UPDATE'],
  resources: ['ownedaccesskeys'],
  matchConditions: {
    'not-exempt': notExempt,
  },
  variables: {
    spec,
    oldSpec,
    privilegeChange,
    user: cel`variables.spec.?user.orValue('')`,
    team: cel`variables.spec.?team.orValue('')`,
    subject: cel`variables.spec.?subject.orValue('')`,
  },
  validations: [
    {
      expression: cel`
        !variables.privilegeChange || variables.user == '' || variables.user == request.userInfo.username
          || authorizer.group('').resource('users').name(variables.user).check('impersonate').allowed()
      `,
      message: line`
        spec.user: a key for another user is made and widened by those with the verb impersonate on that user;
        ask one of them, or make a key of your own without spec.user
      `,
    },
    {
      expression: cel`
        !variables.privilegeChange || variables.team == ''
          || (authorizer.group('').resource('users').name('team:' + variables.team).check('impersonate').allowed()
              && authorizer.group('').resource('groups').name('team:' + variables.team).check('impersonate').allowed())
      `,
      message: line`
        spec.team: a key for a team is made and widened by those with the verb impersonate on the user and on
        the group team:<team>, which its members do not have as such; ask one of them, or make a key of your own
        without spec.team
      `,
    },
    {
      expression: cel`
        !variables.privilegeChange || variables.subject == ''
          || authorizer.group('').resource('users').name(variables.subject).check('impersonate').allowed()
      `,
      message: line`
        spec.subject: a key for a subject is made and widened by those with the verb impersonate on the user of
        that name; ask one of them, or make a key of your own without spec.subject
      `,
    },
  ],
});
