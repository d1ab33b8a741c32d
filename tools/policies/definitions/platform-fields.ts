import { list, notExempt, oldSpec, spec, storedSpec } from '../fragments.ts';
import { naming, type Validation, validating } from '../policy.ts';
import { cel, line, text } from '../text.ts';

const fields = ['identity', 'identityRefresh', 'oidcProvider', 'oidcLogin', 'parent'];

const platformField = cel`k in ${list([...fields, 'type'])}`;

const keep = (field: string): Validation => ({
  expression: cel`!('${field}' in variables.changed) || variables.manages`,
  ...naming(
    'ERR_POLICY_PLATFORM_FIELD',
    line`
    spec.${field}: set by the platform, which has the verb manage-platform-fields on ownedaccesskeys; leave it out, or as it
    stands
  `,
  ),
});

export const platformFields = validating({
  name: 'latchkey-platform-fields',
  about: text`
    What single sign-on and the platform itself put into an access key. Nothing is decided by it, but people and tools
    believe it; and a key of a type that only the platform gives is deleted after its end.
  `,
  operations: ['CREATE', 'UPDATE'],
  resources: ['ownedaccesskeys'],
  matchConditions: {
    'with-platform-fields': cel`
      (${spec}).exists(k, ${platformField})
        || (request.operation != 'CREATE' && (${storedSpec}).exists(k, ${platformField}))
    `,
    'not-exempt': notExempt,
  },
  variables: {
    spec,
    oldSpec,
    // Clients that know no absent fields send these.
    nothing: cel`[dyn(''), dyn({})]`,
    changed: cel`
      ${list(fields)}.filter(f,
        variables.spec[?f].orValue('') != variables.oldSpec[?f].orValue('')
          && !(variables.spec[?f].orValue('') in variables.nothing
              && variables.oldSpec[?f].orValue('') in variables.nothing))
    `,
    types: cel`[variables.spec[?'type'].orValue(''), variables.oldSpec[?'type'].orValue('')]`,
    manages: cel`
      authorizer.group('management.platform.sh').resource('ownedaccesskeys').name(object.metadata.name)
        .check('manage-platform-fields').allowed()
    `,
  },
  validations: [
    ...fields.map(keep),
    {
      expression: cel`variables.types[0] == variables.types[1] || variables.types.all(t, t in ['', 'User', 'Other']) || variables.manages`,
      ...naming(
        'ERR_POLICY_PLATFORM_FIELD',
        line`
        spec.type: types other than User and Other are given and taken by the platform, which has the verb
        manage-platform-fields on ownedaccesskeys; write User or Other, or leave it as it stands
      `,
      ),
    },
  ],
});
