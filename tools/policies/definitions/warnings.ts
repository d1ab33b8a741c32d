import { cannotRead, credentials, inSpec, notOperator, oldSpec, spec } from '../fragments.ts';
import { validating } from '../policy.ts';
import { cel, line, text } from '../text.ts';

/** Of a token or kubeconfig: it stands in the status from now on, and the requester cannot read that. A key is refused. */
const inStatusOfStranger = cel`
  !('secretRef' in object.spec)
    && (request.operation == 'CREATE'
      || (type(oldObject.?spec.orValue('')) == map && 'secretRef' in oldObject.spec))
    && ${cannotRead}
`;

export const warnings = validating({
  name: 'latchkey-warnings',
  about: text`
    Warns you when a field of the object that you apply does less than it seems to. It refuses nothing, and does not repeat
    itself as long as the field stays as it is: no one would read a warning with every re-sync.
  `,
  failurePolicy: 'Ignore',
  action: 'Warn',
  operations: ['CREATE', 'UPDATE'],
  resources: credentials,
  matchConditions: {
    // Whatever a validation below warns of is among these; most objects have none of them.
    'with-something-to-say': inSpec(cel`
      ['rules', 'allowPlatformCli', 'parent', 'oidcLogin'].exists(f, f in object.spec)
        || ('scope' in object.spec && (type(object.spec.scope) != map
          || ['rules', 'allowLoftCli', 'roles'].exists(f, f in object.spec.scope)
          || !['projects', 'spaces', 'virtualClusters', 'clusters'].exists(l, object.spec.scope[?l].orValue([]) != [])))
        || (request.resource.resource == 'ownedaccesskeys'
          ? (object.spec[?'accessKey'].orValue('') == '' && object.spec[?'ttl'].orValue(0) <= 0)
            || object.spec[?'ttl'].orValue(0) > 31536000
          : object.spec[?'ttl'].orValue(0) > 7776000 || object.spec[?'certificateTTL'].orValue(0) > 31536000
            || (request.operation == 'UPDATE' && object.spec[?'accessKey'].orValue('') == '')
            || (${inStatusOfStranger}))
    `),
    'spec-created-or-changed': cel`request.operation == 'CREATE' || object.?spec != oldObject.?spec`,
    'not-exempt': notOperator,
  },
  variables: {
    spec,
    oldSpec,
    scope: cel`type(variables.spec[?'scope'].orValue({})) == map ? variables.spec[?'scope'].orValue({}) : {}`,
    oldScope: cel`type(variables.oldSpec[?'scope'].orValue({})) == map ? variables.oldSpec[?'scope'].orValue({}) : {}`,
    // One entry for each role: whether its name is known.
    knownRoles: cel`
      variables.scope[?'roles'].orValue([]).map(r, r.?role.orValue('') in
        ['platform-cli', 'loft-cli', 'network-peer', 'agent', 'vcluster', 'runner', 'workspace'])
    `,
    // Of a token or kubeconfig, in seconds, now and before. Absent means a day; 0 a day or, for a kubeconfig, a year.
    lives: cel`
      [variables.spec, variables.oldSpec].map(s, request.resource.resource == 'directclusterendpointtokens'
        ? (s[?'ttl'].orValue(0) > 0 ? s[?'ttl'].orValue(0) : 86400)
        : (s[?'certificateTTL'].orValue(86400) > 0 ? s[?'certificateTTL'].orValue(86400) : 31536000))
    `,
    // The life of a key: whole years of 365 days, and the whole days that are left.
    years: cel`
      [variables.spec[?'ttl'].orValue(0) / 31536000, variables.spec[?'ttl'].orValue(0) % 31536000 / 86400]
    `,
    // An effective scope without any entry: `{}`, null, or lists that are all empty.
    allowsNothing: cel`
      'scope' in variables.spec
        && ['roles', 'projects', 'spaces', 'virtualClusters', 'clusters', 'rules']
          .all(l, variables.scope[?l].orValue([]) == [])
        && variables.scope[?'allowLoftCli'].orValue(false) != true
        && variables.spec[?'rules'].orValue([]) == []
        && variables.spec[?'allowPlatformCli'].orValue(false) != true
    `,
  },
  validations: [
    {
      expression: cel`variables.scope[?'rules'].orValue([]) == [] || variables.scope[?'rules'] == variables.oldScope[?'rules']`,
      message: line`
        spec.scope.rules: deprecated; use projects, spaces, virtualClusters, clusters and roles of spec.scope
      `,
    },
    {
      expression: cel`variables.spec[?'rules'].orValue([]) == [] || variables.spec[?'rules'] == variables.oldSpec[?'rules']`,
      message: line`
        spec.rules: deprecated; use projects, spaces, virtualClusters, clusters and roles of spec.scope
      `,
    },
    {
      expression: cel`
        variables.spec[?'allowPlatformCli'].orValue(false) != true
          || variables.spec[?'allowPlatformCli'] == variables.oldSpec[?'allowPlatformCli']
      `,
      message: 'spec.allowPlatformCli: deprecated; use the role platform-cli in spec.scope.roles',
    },
    {
      expression: cel`
        variables.scope[?'allowLoftCli'].orValue(false) != true
          || variables.scope[?'allowLoftCli'] == variables.oldScope[?'allowLoftCli']
      `,
      message: 'spec.scope.allowLoftCli: deprecated; use the role platform-cli in spec.scope.roles',
    },
    {
      expression: cel`variables.spec[?'parent'].orValue('') == '' || variables.spec[?'parent'] == variables.oldSpec[?'parent']`,
      message: 'spec.parent: deprecated and without effect; the parent of a key is spec.accessKey',
    },
    {
      expression: cel`variables.spec[?'oidcLogin'].orValue({}) == {} || variables.spec[?'oidcLogin'] == variables.oldSpec[?'oidcLogin']`,
      message: 'spec.oidcLogin: deprecated; use spec.identity',
    },
    // The maxima that the operator ships with, LATCHKEY_MAX_TOKEN_TTL and LATCHKEY_MAX_KUBECONFIG_TTL.
    {
      expression: cel`
        request.resource.resource != 'directclusterendpointtokens'
          || variables.spec[?'ttl'].orValue(0) <= 7776000 || variables.spec[?'ttl'] == variables.oldSpec[?'ttl']
      `,
      message: line`
        spec.ttl: above the maximum of 7776000 seconds (90 days); the token ends earlier, see
        status.expirationTimestamp
      `,
    },
    {
      expression: cel`
        request.resource.resource != 'virtualclusterinstancekubeconfigs'
          || variables.spec[?'certificateTTL'].orValue(0) <= 31536000
          || variables.spec[?'certificateTTL'] == variables.oldSpec[?'certificateTTL']
      `,
      message: line`
        spec.certificateTTL: above the maximum of 31536000 seconds (365 days), unless
        LATCHKEY_MAX_KUBECONFIG_TTL allows more; the kubeconfig ends earlier, see status.expirationTimestamp
      `,
    },
    {
      expression: cel`
        request.operation == 'CREATE' || request.resource.resource == 'ownedaccesskeys'
          || variables.spec[?'accessKey'].orValue('') != '' || variables.lives[0] <= variables.lives[1]
      `,
      message: 'spec.ttl: the end of a token without spec.accessKey never moves later; make another token',
      messageExpression: cel`
        request.resource.resource == 'directclusterendpointtokens'
          ? 'spec.ttl: the end of a token without spec.accessKey never moves later; make another token'
          : 'spec.certificateTTL: the end of a kubeconfig without spec.accessKey never moves later; make another kubeconfig'
      `,
    },
    {
      expression: cel`
        !variables.allowsNothing
          || (request.operation != 'CREATE'
              && ['scope', 'rules', 'allowPlatformCli'].all(f, variables.spec[?f] == variables.oldSpec[?f]))
      `,
      message: line`
        spec.scope: has no entry, so it allows nothing but asking who one is; name what may be used
      `,
    },
    {
      expression: cel`request.resource.resource == 'ownedaccesskeys' || !(${inStatusOfStranger})`,
      message: line`
        spec.secretRef: without it the credential is in the status, which you may not get; name a Secret
        that you may read
      `,
    },
    {
      expression: cel`variables.knownRoles.all(known, known) || variables.scope[?'roles'] == variables.oldScope[?'roles']`,
      message: 'spec.scope.roles: there is no role of that name, so it allows nothing',
      messageExpression: cel`
        'spec.scope.roles[' + string(variables.knownRoles.indexOf(false)) + '].role: there is no role of that name, so it allows '
          + 'nothing; there are platform-cli (also loft-cli), network-peer, agent, vcluster, runner and workspace'
      `,
    },
    {
      expression: cel`
        request.resource.resource != 'ownedaccesskeys' || variables.spec[?'accessKey'].orValue('') != ''
          || variables.spec[?'ttl'].orValue(0) > 0
          || (request.operation != 'CREATE' && variables.oldSpec[?'ttl'].orValue(0) <= 0)
      `,
      message: 'spec.ttl: without it, or with 0, the key never ends; set its life in seconds',
    },
    {
      expression: cel`
        request.resource.resource != 'ownedaccesskeys' || variables.spec[?'ttl'].orValue(0) <= 31536000
          || variables.spec[?'ttl'] == variables.oldSpec[?'ttl']
      `,
      message: 'spec.ttl: it is in seconds, and this is more than a year',
      messageExpression: cel`
        'spec.ttl: it is in seconds, and this is more than a year: ' + string(variables.years[0])
          + (variables.years[0] == 1 ? ' year' : ' years')
          + (variables.years[1] == 0 ? '' : ' and ' + string(variables.years[1]) + (variables.years[1] == 1 ? ' day' : ' days'))
      `,
    },
  ],
});
