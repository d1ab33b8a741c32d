import { systemObjects } from '../../../src/api/names.ts';
import { isMaximum, list, sitePolicyEntries } from '../fragments.ts';
import { naming, namingAfter, validating } from '../policy.ts';
import { cel, text } from '../text.ts';

export const sitePolicyValues = validating({
  name: 'latchkey-site-policy-values',
  about: text`
    A mistake in the site policy is refused at once; stored, it would stop everyone else.
  `,
  operations: ['CREATE', 'UPDATE'],
  configMap: systemObjects.sitePolicy,
  matchConditions: {
    // What was stored before this policy must not keep its labels and finalizers.
    'entries-created-or-changed': cel`request.operation == 'CREATE' || object.?data != oldObject.?data || object.?binaryData != oldObject.?binaryData`,
  },
  variables: {
    data: cel`object.?data.orValue({})`,
    known: list(sitePolicyEntries),
    // Empty when there are so many that looking through them would exceed the budget of the expression.
    entries: cel`size(variables.data) <= 64 ? variables.data.filter(k, true) : []`,
    unknown: cel`variables.entries.filter(k, !(k in variables.known))`,
    notSeconds: cel`
      variables.entries.filter(k, k in variables.known && k.startsWith('max')
        && !(${isMaximum('variables.data[k]')}))
    `,
  },
  validations: [
    {
      expression: cel`size(object.?binaryData.orValue({})) == 0`,
      ...naming(
        'ERR_POLICY_SITE_POLICY',
        'binaryData: must be empty; the entries of the site policy stand in data',
      ),
    },
    {
      expression: cel`size(variables.data) <= 64 && variables.unknown == []`,
      ...namingAfter('ERR_POLICY_SITE_POLICY', {
        message: 'data: holds entries that are no limits of Latchkey',
        messageExpression: cel`
          (variables.unknown == [] ? 'data: holds more entries than there are; ' : 'data[' + variables.unknown[0] + ']: unknown; ')
            + 'there are maxKeyTTL, maxKeyTTL.<type>, maxTokenTTL, maxCertificateTTL, requireEnd, requireScope and acceptPlainKey'
        `,
      }),
    },
    {
      expression: cel`variables.notSeconds == []`,
      ...namingAfter('ERR_POLICY_SITE_POLICY', {
        message: 'data: a maximum must be whole seconds from 600 to 3153600000, in quotes',
        messageExpression: cel`'data[' + variables.notSeconds[0] + ']: must be whole seconds from 600 to 3153600000, in quotes; remove it for no maximum'`,
      }),
    },
    {
      expression: cel`variables.data[?'requireEnd'].orValue('false') in ['true', 'false', 'fixed']`,
      ...naming('ERR_POLICY_SITE_POLICY', 'data[requireEnd]: must be "true", "fixed" or "false"'),
    },
    {
      expression: cel`variables.data[?'requireScope'].orValue('none') in ['none', 'others', 'keys', 'tokens', 'all']`,
      ...naming(
        'ERR_POLICY_SITE_POLICY',
        'data[requireScope]: must be "others", "keys", "tokens", "all" or "none"',
      ),
    },
    {
      expression: cel`variables.data[?'acceptPlainKey'].orValue('true') in ['true', 'false']`,
      ...naming('ERR_POLICY_SITE_POLICY', 'data[acceptPlainKey]: must be "true" or "false"'),
    },
  ],
});
