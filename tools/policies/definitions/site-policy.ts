import { systemObjects } from '../../../src/api/names.ts';
import { credentials, isMaximum, list, notExempt, oldSpec, sitePolicyEntries, spec } from '../fragments.ts';
import { namingAfter, validating } from '../policy.ts';
import { cel, line, text } from '../text.ts';

const strictest: Readonly<Record<string, string>> = {
  requireEnd: 'fixed',
  requireScope: 'all',
  acceptPlainKey: 'false',
};

/** The value of an entry; one that cannot be read counts as the strictest. */
const option = (entry: string, absent: string, values: readonly string[]): string => cel`
  variables.data[?'${entry}'].orValue(variables.unknown == '' ? '${absent}' : '') in ${list(values)}
    ? variables.data[?'${entry}'].orValue('${absent}') : '${strictest[entry] ?? ''}'
`;

/** The end of a message: which entry asks for it, or why it is at its strictest. */
const because = (entry: string, value: string): string => cel`
  '${entry}' in variables.data
    ? (variables.data['${entry}'] == ${value}
      ? 'by ${entry}' + variables.where
      : 'because ${entry}' + variables.where + ' cannot be read; correct it there')
    : variables.becauseUnknown
`;

export const sitePolicy = validating({
  name: 'latchkey-site-policy',
  about: text`
    What a site asks for beyond the defaults, as entries of the ConfigMap latchkey-site-policy in latchkey-system. It only
    narrows: without the ConfigMap nothing more is asked for, and nothing in it can lift what the definition asks of shared keys. An entry that
    cannot be read counts as the strictest value that still lets people work, and so does every absent entry when there is an
    unknown one, because that may be one of them misspelt. latchkey-site-policy-values keeps such entries from being stored.
  `,
  parameter: systemObjects.sitePolicy,
  operations: ['CREATE', 'UPDATE'],
  resources: credentials,
  matchConditions: {
    // Finalizers come off, whatever the object says.
    'not-being-deleted': cel`request.operation == 'CREATE' || !has(oldObject.metadata.deletionTimestamp)`,
    'spec-created-or-changed': cel`request.operation == 'CREATE' || object.?spec != oldObject.?spec`,
    // The operator writes generated keys and what has ended.
    'not-exempt': notExempt,
  },
  variables: {
    spec,
    oldSpec,
    isKey: cel`request.resource.resource == 'ownedaccesskeys'`,
    isToken: cel`request.resource.resource == 'directclusterendpointtokens'`,
    data: cel`params.?data.orValue({})`,
    where: cel`' in the ConfigMap latchkey-system/latchkey-site-policy'`,
    // One entry that Latchkey does not know; empty: there is none. Many are not looked through: a large ConfigMap would exceed the
    // budget of the expression.
    unknown: cel`
      size(params.?binaryData.orValue({})) > 0 ? 'binaryData' : size(variables.data) > 13 ? 'one of so many entries'
        : (variables.data.filter(k, !(k in ${list(sitePolicyEntries)})) + [''])[0]
    `,
    // The limits on the life of this object, and of them those that can be read.
    limits: cel`
      variables.isToken ? ['maxTokenTTL'] : !variables.isKey ? ['maxCertificateTTL']
        : variables.spec[?'type'].orValue('') == '' ? ['maxKeyTTL']
        : ['maxKeyTTL', 'maxKeyTTL.' + variables.spec.type]
    `,
    readable: cel`
      variables.limits.filter(e, e in variables.data && ${isMaximum('variables.data[e]')})
    `,
    strict: cel`variables.limits.filter(e, !(e in variables.readable) && (e in variables.data || variables.unknown != ''))`,
    maximum: cel`(variables.readable.map(e, int(variables.data[e])) + variables.strict.map(e, 86400) + [9223372036854775807]).min()`,
    // Seconds; the largest number: no end.
    life: cel`
      variables.isKey ? (variables.spec[?'ttl'].orValue(0) > 0 ? variables.spec.ttl : 9223372036854775807)
        : variables.isToken ? (variables.spec[?'ttl'].orValue(0) > 0 ? variables.spec.ttl : 86400)
        : variables.spec[?'certificateTTL'].orValue(86400) > 0 ? variables.spec[?'certificateTTL'].orValue(86400)
        : 9223372036854775807
    `,
    lifeChanged: cel`
      request.operation == 'CREATE'
        || ['ttl', 'ttlAfterLastActivity', 'type', 'certificateTTL'].exists(f, variables.spec[?f] != variables.oldSpec[?f])
    `,
    requireEnd: option('requireEnd', 'false', ['true', 'false', 'fixed']),
    requireScope: option('requireScope', 'none', ['none', 'others', 'keys', 'tokens', 'all']),
    acceptPlainKey: option('acceptPlainKey', 'true', ['true', 'false']),
    scoped: cel`'scope' in variables.spec || variables.spec[?'rules'].orValue([]) != []`,
    wasScoped: cel`'scope' in variables.oldSpec || variables.oldSpec[?'rules'].orValue([]) != []`,
    // A key below another one names no user. At an update its creator counts, not the one who changes it.
    isForOther: cel`
      variables.spec[?'user'].orValue('') != ''
        && variables.spec.user != (request.operation == 'CREATE'
          ? request.userInfo.username
          : oldObject.metadata.?annotations[?'management.platform.sh/requester'].orValue(''))
    `,
    key: cel`variables.spec[?'key'].orValue('')`,
    // The end of a message about an option that is at its strictest because of an unknown entry.
    becauseUnknown: cel`'the strictest value, because ' + variables.unknown + ' is unknown' + variables.where + '; remove or correct it there'`,
  },
  validations: [
    {
      expression: cel`!variables.lifeChanged || variables.life <= variables.maximum`,
      ...namingAfter('ERR_POLICY_LIFE', {
        message: line`
          spec.ttl, spec.certificateTTL: above the maximum in the ConfigMap latchkey-system/latchkey-site-policy
        `,
        messageExpression: cel`
          (variables.isKey ? 'spec.ttl: must be set, and at most '
              : variables.isToken ? 'spec.ttl (86400 when absent): must be at most '
              : 'spec.certificateTTL (86400 when absent): must not be 0, and at most ')
            + string(variables.maximum) + ' seconds, '
            + (variables.readable.exists(e, int(variables.data[e]) == variables.maximum)
                ? 'by ' + variables.readable.filter(e, int(variables.data[e]) == variables.maximum)[0] + variables.where
                : variables.strict[0] in variables.data
                ? 'because ' + variables.strict[0] + variables.where + ' cannot be read; correct it there'
                : variables.becauseUnknown)
        `,
      }),
    },
    {
      expression: cel`
        variables.requireEnd == 'false' || !variables.isKey || !variables.lifeChanged
          || variables.spec[?'ttl'].orValue(0) > 0
      `,
      ...namingAfter('ERR_POLICY_LIFE', {
        message: line`
          spec.ttl: must be set, by requireEnd in the ConfigMap latchkey-system/latchkey-site-policy
        `,
        messageExpression: cel`
          'spec.ttl: must be set, ' + (${because('requireEnd', 'variables.requireEnd')})
        `,
      }),
    },
    {
      expression: cel`
        variables.requireEnd != 'fixed' || !variables.isKey || !variables.lifeChanged
          || variables.spec[?'ttlAfterLastActivity'].orValue(false) != true
      `,
      ...namingAfter('ERR_POLICY_LIFE', {
        message: line`
          spec.ttlAfterLastActivity: must not be true, by requireEnd in the ConfigMap
          latchkey-system/latchkey-site-policy
        `,
        messageExpression: cel`
          'spec.ttlAfterLastActivity: must not be true, ' + (${because('requireEnd', "'fixed'")})
        `,
      }),
    },
    {
      expression: cel`
        variables.scoped || (request.operation != 'CREATE' && !variables.wasScoped)
          || !((variables.isKey && variables.requireScope in ['keys', 'all'])
            || (variables.isKey && variables.requireScope == 'others' && variables.isForOther)
            || (variables.isToken && variables.requireScope in ['tokens', 'all']))
      `,
      ...namingAfter('ERR_POLICY_SCOPE_MISSING', {
        message: line`
          spec.scope: must be set, by requireScope in the ConfigMap latchkey-system/latchkey-site-policy
        `,
        messageExpression: cel`
          'spec.scope: must be set' + (variables.requireScope == 'others' ? ' on a key for another user, ' : ', ')
            + (${because('requireScope', 'variables.requireScope')})
        `,
      }),
    },
    {
      expression: cel`
        !variables.isKey || variables.key == '' || optional.of(variables.key) == variables.oldSpec[?'key']
          || variables.acceptPlainKey == 'true' || variables.key.startsWith('sha256:')
      `,
      ...namingAfter('ERR_POLICY_PLAIN_KEY', {
        message: line`
          spec.key: must be sha256: and a hash, by acceptPlainKey in the ConfigMap
          latchkey-system/latchkey-site-policy
        `,
        messageExpression: cel`
          'spec.key: must be sha256: and a hash, or be left out, ' + (${because('acceptPlainKey', "'false'")})
        `,
      }),
    },
  ],
});

export const sitePolicyKeepalive = validating({
  name: 'latchkey-site-policy-keepalive',
  about: text`
    Judges nothing, as no one can store a Self. It is there so that ConfigMaps stay a parameter when the policy or binding above is
    deleted and made again: an API server stops to follow them when the last binding with such a parameter is gone for a second,
    and begins again only with its next start, by a defect of Kubernetes. Old entries would be in force until then.
  `,
  parameter: systemObjects.sitePolicy,
  operations: ['CREATE'],
  resources: ['selves'],
  validations: [
    {
      expression: cel`true`,
      message: 'never said: nothing is judged here',
    },
  ],
});
