import { notExempt, oldSpec, privilegeChange, spec } from '../fragments.ts';
import { naming, validating } from '../policy.ts';
import { cel, line, text } from '../text.ts';

const instanceName = cel`
  object.spec.?virtualClusterInstance.orValue('') != ''
    ? object.spec.virtualClusterInstance : object.metadata.name
`;

/** Of a creation. What the schema let in has a spec with these types. */
const mayUseIt = cel`
  has(object.spec) && (object.spec.?accessKey.orValue('') != ''
    || (authorizer.group('management.platform.sh').resource('virtualclusterinstances')
        .namespace(request.namespace).name(${instanceName}).check('use').allowed()
      && object.spec.?clientCert.orValue(false) != true))
`;

const instancePlace = "request.namespace + '/' + variables.instance";

export const instanceUse = validating({
  name: 'latchkey-instance-use',
  about: text`
    Who may have a kubeconfig for a virtual cluster. One without \`accessKey\` speaks for its requester, who is asked here;
    with \`accessKey\` the operator asks for the user of that key. The operator asks again at each issue, without reserved
    groups of the requester; so this refuses no one that the operator would serve.
  `,
  operations: ['CREATE', 'UPDATE'],
  resources: ['virtualclusterinstancekubeconfigs'],
  matchConditions: {
    'not-exempt': notExempt,
    // The rest costs four times as much, and says which right is missing.
    'not-allowed-at-first-sight': cel`request.operation != 'CREATE' || !(${mayUseIt})`,
  },
  variables: {
    spec,
    oldSpec,
    privilegeChange,
    judged: cel`variables.privilegeChange && variables.spec[?'accessKey'].orValue('') == ''`,
    instance: cel`
      variables.spec[?'virtualClusterInstance'].orValue('') != ''
        ? variables.spec.virtualClusterInstance : object.metadata.name
    `,
    onInstance: cel`
      authorizer.group('management.platform.sh').resource('virtualclusterinstances')
        .namespace(request.namespace).name(variables.instance)
    `,
  },
  validations: [
    {
      expression: cel`!variables.judged || variables.onInstance.check('use').allowed()`,
      ...naming(
        'ERR_POLICY_USE',
        line`
        spec.virtualClusterInstance: a kubeconfig without spec.accessKey is for those with the verb use on the
        virtualclusterinstance of that name, where it is absent of metadata.name; correct the name, ask for that verb, or set
        spec.accessKey to a key whose user has it
      `,
        { virtualclusterinstance: instancePlace },
      ),
    },
    {
      expression: cel`
        !variables.judged || variables.spec[?'clientCert'].orValue(false) != true
          || variables.onInstance.check('use-as-admin').allowed()
      `,
      ...naming(
        'ERR_POLICY_USE',
        line`
        spec.clientCert: a client certificate without spec.accessKey is for those with the verb use-as-admin on
        the virtualclusterinstance; ask for that verb, or leave spec.clientCert out
      `,
        { virtualclusterinstance: instancePlace },
      ),
    },
  ],
});
