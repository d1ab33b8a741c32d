import { ownNamespaces } from '../../../src/api/names.ts';
import { credentials, list, notExempt, oldSpec, privilegeChange } from '../fragments.ts';
import { naming, validating } from '../policy.ts';
import { cel, line, text } from '../text.ts';

const onSecret = cel`authorizer.group('').resource('secrets').namespace(variables.secret[0]).name(variables.secret[1])`;

const secretPlace = "variables.secret[0] + '/' + variables.secret[1]";

export const secretReference = validating({
  name: 'latchkey-secret-reference',
  protects: 'security',
  about: text`
    The operator writes the Secret of spec.secretRef with rights of its own. Without this rule, anyone who may create a token
    could have it written where they may not write, or have a credential of others sent to a Secret that they read. The
    rights are asked for when the reference is set, and again at every change that counts: a key with wider groups in the
    same Secret is another credential. What only narrows (\`disabled: true\`) and what people read needs none of them.
  `,
  operations: ['CREATE', 'UPDATE'],
  resources: credentials,
  matchConditions: {
    'with-secret-reference': cel`has(object.spec) && type(object.spec) == map && 'secretRef' in object.spec`,
    'not-exempt': notExempt,
  },
  variables: {
    spec: cel`object.spec`,
    oldSpec,
    privilegeChange,
    reference: cel`type(variables.spec.secretRef) == map ? variables.spec.secretRef : {}`,
    // Namespace and name. A kubeconfig's Secret is always in the namespace of the kubeconfig. What is no text can only be
    // left from another schema; it is judged as "any Secret", which takes the most.
    secret: cel`
      [
        has(request.namespace) ? request.namespace : variables.reference[?'namespace'].orValue(''),
        variables.reference[?'name'].orValue('')
      ].map(t, type(t) == string ? t : '')
    `,
    // A variable each: the API server allows an expression two such checks.
    mayGet: cel`${onSecret}.check('get').allowed()`,
    mayCreate: cel`${onSecret}.check('create').allowed()`,
    mayUpdate: cel`${onSecret}.check('update').allowed()`,
  },
  validations: [
    {
      expression: cel`!variables.privilegeChange || !(variables.secret[0] in ${list(ownNamespaces)})`,
      ...naming(
        'ERR_POLICY_SYSTEM_NAMESPACE',
        line`
        spec.secretRef: the Secret must not be in latchkey-system or latchkey-targets, where Latchkey keeps its own;
        name one in another namespace
      `,
        { Secret: secretPlace },
      ),
    },
    {
      expression: cel`!variables.privilegeChange || (variables.mayGet && variables.mayCreate && variables.mayUpdate)`,
      ...naming(
        'ERR_POLICY_SECRET_RIGHTS',
        line`
        spec.secretRef: you need the verbs get, create and update on that Secret to set it, or to change the
        spec of an object that has it; have them granted, or name a Secret that you may write
      `,
        { Secret: secretPlace },
      ),
    },
  ],
});
