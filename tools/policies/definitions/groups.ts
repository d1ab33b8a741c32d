import { notExempt, oldSpec, privilegeChange, spec } from '../fragments.ts';
import { type Validation, validating } from '../policy.ts';
import { cel, line, text } from '../text.ts';

const limit = 16;

/** The rule for the group in one place of the list. */
const mayGive = (place: number): Validation => {
  const group = `variables.groups[${place}]`;
  return {
    expression: cel`
      size(variables.groups) <= ${place.toString()} || ${group} in variables.requesterGroups
        || authorizer.group('').resource('groups').name(${group}).check('impersonate').allowed()
    `,
    message: line`
      spec.groups[${place.toString()}]: a group is given to a key by its members and by those with the verb impersonate on it;
      remove the group, or ask one of them
    `,
  };
};

export const groups = validating({
  name: 'latchkey-groups',
  about: text`
    Which groups an access key may have: those that the requester is in, and those for which he may speak anyway, by the
    verb impersonate. One expression for each place in the list: two checks are as many as one expression can pay for, and
    so each message can say which group it is without repeating a name.
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
    groups: cel`
      !variables.privilegeChange || type(variables.spec[?'groups'].orValue([])) != list
        ? [] : variables.spec[?'groups'].orValue([])
    `,
    requesterGroups: cel`request.userInfo.?groups.orValue([])`,
  },
  validations: [
    // The schema says so too, but lets a longer list stand that came in before it did.
    {
      expression: cel`size(variables.groups) <= ${limit.toString()}`,
      message: `spec.groups: there may be ${limit} at most; remove the others`,
    },
    ...Array.from({ length: limit }, (_, place) => mayGive(place)),
  ],
});
