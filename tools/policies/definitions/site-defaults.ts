import { inSpec, notExempt, oldSpec, spec } from '../fragments.ts';
import { naming, validating } from '../policy.ts';
import { cel, line, text } from '../text.ts';

export const siteDefaults = validating({
  name: 'latchkey-site-defaults',
  about: text`
    What holds on every site, with a site policy and without. A key that speaks for a team, a subject or further groups is used
    by more hands than one and outlives the people who made it, so it has to say what it is for.
  `,
  operations: ['CREATE', 'UPDATE'],
  resources: ['ownedaccesskeys'],
  matchConditions: {
    'shared-without-scope': inSpec(cel`
      !('scope' in object.spec) && (['team', 'subject'].exists(f, object.spec[?f].orValue('') != '')
        || object.spec[?'groups'].orValue([]) != [])
    `),
    // Finalizers come off, whatever the object says.
    'not-being-deleted': cel`request.operation == 'CREATE' || !has(oldObject.metadata.deletionTimestamp)`,
    'not-exempt': notExempt,
  },
  variables: {
    spec,
    oldSpec,
  },
  validations: [
    {
      expression: cel`
        'scope' in variables.spec
          || (['team', 'subject'].all(f, variables.spec[?f].orValue('') == '') && variables.spec[?'groups'].orValue([]) == [])
          || (request.operation != 'CREATE' && !('scope' in variables.oldSpec)
              && variables.spec[?'groups'] == variables.oldSpec[?'groups'])
      `,
      ...naming(
        'ERR_POLICY_SCOPE_MISSING',
        line`
        spec.scope: a key with spec.team, spec.subject or spec.groups needs one; name what the key may be used
        for, or write {} to allow nothing
      `,
      ),
    },
  ],
});
