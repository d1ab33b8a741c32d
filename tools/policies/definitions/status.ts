import { kinds, notOperator } from '../fragments.ts';
import { naming, validating } from '../policy.ts';
import { cel, line, text } from '../text.ts';

export const status = validating({
  name: 'latchkey-status',
  protects: 'security',
  about: text`
    Verifiers believe status, so anyone who writes it makes credentials: no one but the operator may, no administrator
    either. The account that records activity may move lastActivity forward and nothing else.
  `,
  operations: ['CREATE', 'UPDATE'],
  resources: [...kinds, 'credentiallocks'].map((plural) => `${plural}/status`),
  matchConditions: {
    'not-exempt': notOperator,
  },
  variables: {
    activity: cel`request.userInfo.username == 'system:serviceaccount:latchkey-system:latchkey-activity'`,
    before: cel`oldObject.?status.orValue({})`,
    after: cel`object.?status.orValue({})`,
    moved: cel`variables.after[?'lastActivity'] != variables.before[?'lastActivity']`,
  },
  validations: [
    {
      expression: cel`variables.activity`,
      ...naming('ERR_POLICY_OPERATOR_ONLY', 'status: only Latchkey writes it; change spec instead'),
    },
    {
      expression: cel`
        !variables.activity
          || (request.resource.resource == 'ownedaccesskeys'
              && variables.after.all(k, k == 'lastActivity' || variables.after[?k] == variables.before[?k])
              && variables.before.all(k, k == 'lastActivity' || k in variables.after))
      `,
      ...naming(
        'ERR_POLICY_ACTIVITY',
        line`
        status: latchkey-activity writes status.lastActivity of an OwnedAccessKey and nothing else
      `,
      ),
    },
    {
      expression: cel`
        !variables.activity || !variables.moved
          || ('lastActivity' in variables.after
              && (!('lastActivity' in variables.before)
                  || timestamp(variables.after.lastActivity) > timestamp(variables.before.lastActivity)))
      `,
      ...naming(
        'ERR_POLICY_ACTIVITY',
        'status.lastActivity: only a later time than the recorded one may be written',
      ),
    },
    // CEL has no clock. The API server has just put the present time on this write's entry in managedFields. It keeps no such list once
    // the owner has emptied it: refused for want of a clock, the key would end while it is in use.
    {
      expression: cel`
        !variables.activity || !variables.moved || !('lastActivity' in variables.after)
          || object.metadata.?managedFields.orValue([]).size() == 0
          || object.metadata.managedFields.exists(f, has(f.time)
              && timestamp(variables.after.lastActivity) <= timestamp(f.time) + duration('60s'))
      `,
      ...naming(
        'ERR_POLICY_ACTIVITY',
        line`
        status.lastActivity: lies more than 60 seconds in the future; check the clock of the gateway
      `,
      ),
    },
  ],
});
