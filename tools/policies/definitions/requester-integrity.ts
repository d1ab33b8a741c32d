import { ephemeralLabel, isOperator, kinds } from '../fragments.ts';
import { naming, validating } from '../policy.ts';
import {
  mayStampAgain,
  recordIsOther,
  stampOf,
  stampsDiffer,
  stampVariables,
  wantedStamp,
} from '../stamps.ts';
import { cel, line, text } from '../text.ts';

export const requesterIntegrity = validating({
  name: 'latchkey-requester-integrity',
  protects: 'security',
  about: text`
    What latchkey-requester sets must still stand there when all mutation is over: a webhook that runs
    after them, or the moments in which they are not active yet, must not let a forged requester through. The same goes for
    what metadata.managedFields say that the operator wrote.
  `,
  operations: ['CREATE', 'UPDATE'],
  resources: kinds,
  // False for nearly every object, and then the rest is left out. Where it is true, the validations say what is wrong.
  matchConditions: {
    'not-as-it-was-set': cel`
      (request.operation == 'CREATE'
          ? ${stampOf('created-with')}.hasValue()
            || ${recordIsOther}
          : ${stampsDiffer}
            || (${mayStampAgain}))
        || request.userInfo.?extra[?'management.platform.sh/access-key'].hasValue()
        || object.metadata.?labels[?'management.platform.sh/ephemeral'] != (${ephemeralLabel})
        || (request.resource.resource == 'ownedaccesskeys'
          && object.metadata.?managedFields.orValue([]).exists(m, m.?manager.orValue('') == 'latchkey-operator'))
    `,
  },
  variables: {
    create: cel`request.operation == 'CREATE'`,
    annotations: cel`object.metadata.?annotations.orValue({})`,
    ...stampVariables,
    credentials: cel`request.userInfo.?extra[?'management.platform.sh/access-key']`,
    // By these the operator knows a key that it generated, and that it was the one who disabled a key at its end, which it
    // takes back later. Clients choose the name of their field manager, and may send managedFields as they like. A claim may
    // outlive its field: latchkey-kept-fields takes the key away without a word about who managed it.
    byOperator: cel`
      request.resource.resource != 'ownedaccesskeys'
          || ${isOperator}
        ? []
        : object.metadata.?managedFields.orValue([]).filter(m, m.?manager.orValue('') == 'latchkey-operator')
    `,
    byOperatorBefore: cel`
      variables.create
        ? []
        : oldObject.metadata.?managedFields.orValue([]).filter(m, m.?manager.orValue('') == 'latchkey-operator')
    `,
    label: cel`object.metadata.?labels[?'management.platform.sh/ephemeral']`,
  },
  validations: [
    {
      expression: cel`
        variables.annotations[?'management.platform.sh/requester'] == (variables.create
          ? optional.of(request.userInfo.username)
          : variables.stored[?'management.platform.sh/requester'])
      `,
      ...naming(
        'ERR_POLICY_STAMPS',
        line`
        metadata.annotations[management.platform.sh/requester]: set by the policy latchkey-requester only; leave
        it out and check that this policy and its binding are installed
      `,
      ),
    },
    {
      expression: cel`
        variables.annotations[?'management.platform.sh/requester-groups'] == (variables.create
          ? optional.of(variables.groups)
          : ${wantedStamp("'management.platform.sh/requester-groups'")})
      `,
      ...naming(
        'ERR_POLICY_STAMPS',
        line`
        metadata.annotations[management.platform.sh/requester-groups]: set by the policy latchkey-requester
        only; leave it out and check that this policy and its binding are installed
      `,
      ),
    },
    // None of several could be told to be the right one, and none at all would mean "without any limit".
    {
      expression: cel`
        !variables.credentials.hasValue()
          || (size(variables.credentials.value()) == 1 && variables.credentials.value()[0].matches(r'^[^\s,]+$'))
      `,
      ...naming(
        'ERR_POLICY_CREDENTIAL_EXTRA',
        line`
        the user extra management.platform.sh/access-key holds one value, "name/uid"; only the gateway sets it
      `,
      ),
    },
    {
      expression: cel`
        variables.annotations[?'management.platform.sh/created-with'] == (variables.create
          ? variables.credentials.optMap(values, values.join(','))
          : variables.stored[?'management.platform.sh/created-with'])
      `,
      ...naming(
        'ERR_POLICY_STAMPS',
        line`
        metadata.annotations[management.platform.sh/created-with]: set by the policy latchkey-requester only;
        leave it out and check that this policy and its binding are installed
      `,
      ),
    },
    {
      expression: cel`
        ['management.platform.sh/changed-by', 'management.platform.sh/changed-by-groups',
          'management.platform.sh/changed-beyond-limits'].all(n,
          variables.annotations[?n] == (variables.create ? optional.none() : ${wantedStamp('n')}))
      `,
      ...naming(
        'ERR_POLICY_STAMPS',
        line`
        metadata.annotations[management.platform.sh/changed-by]: set by the policy latchkey-requester only, and
        …/changed-by-groups and …/changed-beyond-limits too; leave them out and check that this policy and its binding are installed
      `,
      ),
    },
    // By these a lock on an issuer finds what was exchanged for its tokens.
    {
      expression: cel`
        variables.create || ['management.platform.sh/exchanged-issuer', 'management.platform.sh/exchanged-subject'].all(n,
          variables.annotations[?n] == variables.stored[?n])
      `,
      ...naming(
        'ERR_POLICY_STAMPS',
        line`
        metadata.annotations[management.platform.sh/exchanged-issuer]: set at creation only, and …/exchanged-subject too; leave
        them as they stand and check that the policy latchkey-requester and its binding are installed
      `,
      ),
    },
    {
      expression: cel`
        ['key', 'disabled'].all(f,
          !variables.byOperator.exists(m, ('f:' + f) in m.?fieldsV1[?'f:spec'].orValue({}))
            || (variables.byOperatorBefore.exists(m, ('f:' + f) in m.?fieldsV1[?'f:spec'].orValue({}))
              && (object.?spec[?f] == oldObject.?spec[?f] || !object.?spec[?f].hasValue())))
      `,
      ...naming(
        'ERR_POLICY_FIELD_MANAGER',
        line`
        metadata.managedFields: the manager latchkey-operator stands for what the operator wrote in spec.key and
        spec.disabled; use another field manager, and leave managedFields as they stand
      `,
      ),
    },
    {
      expression: cel`
        variables.label == (${ephemeralLabel})
      `,
      ...naming(
        'ERR_POLICY_STAMPS',
        line`
        metadata.labels[management.platform.sh/ephemeral]: set by the policy latchkey-requester only; leave it
        out and check that this policy and its binding are installed
      `,
      ),
    },
  ],
});
