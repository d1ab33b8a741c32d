import { ownNamespaces } from '../../../src/api/names.ts';
import { list } from '../fragments.ts';
import { naming, validating } from '../policy.ts';
import { cel, line, text } from '../text.ts';

const field = (reference: string, name: string): string => `object.spec.?${reference}.?${name}.orValue('')`;

const mayGet = (namespace: string, name: string): string => cel`
  !(${namespace} in ${list(ownNamespaces)})
    && authorizer.group('').resource('secrets').namespace(${namespace}).name(${name}).check('get').allowed()
`;

const defaultSecret = cel`
  ${field('kubeConfigSecretRef', 'name')} != '' ? ${field('kubeConfigSecretRef', 'name')}
    : 'vc-' + (${field('clusterRef', 'virtualCluster')} != '' ? ${field('clusterRef', 'virtualCluster')} : object.metadata.name)
`;

/** Whether the requester of a creation has all rights. What the schema let in has a spec with these types. */
const allAllowed = cel`
  has(object.spec)
    && (request.resource.resource == 'virtualclusterinstances'
      ? ${mayGet('request.namespace', defaultSecret)}
      : request.resource.resource == 'spaceinstances'
        || ${field('kubeConfigSecretRef', 'namespace')} == '' || ${field('kubeConfigSecretRef', 'name')} == ''
        || (${mayGet(field('kubeConfigSecretRef', 'namespace'), field('kubeConfigSecretRef', 'name'))}))
    && (request.resource.resource == 'clusters' || ${field('clusterRef', 'cluster')} == ''
      || authorizer.group('management.platform.sh').resource('clusters').name(${field('clusterRef', 'cluster')})
        .check('bind-namespace').allowed())
`;

const secretPlace = "variables.secrets[0][0] + '/' + variables.secrets[0][1]";

export const targetSecrets = validating({
  name: 'latchkey-target-secrets',
  protects: 'security',
  about: text`
    What a target names is used by the operator with rights of its own: the administrator kubeconfig in a Secret, and a
    namespace of a connected cluster. To have it do so, you need that right yourself. Otherwise an instance with the name of
    someone's Secret would make its creator an administrator of that virtual cluster. The Secret is judged as the operator
    finds it, defaults included (src/platform/targets/target-record.ts). A change that leaves it as it is needs nothing,
    so the garbage collector and the operator need no exemption.
  `,
  operations: ['CREATE', 'UPDATE'],
  resources: ['virtualclusterinstances', 'spaceinstances', 'clusters'],
  matchConditions: {
    // The rest costs several times as much, and says which right is missing.
    'not-allowed-at-first-sight': cel`request.operation == 'CREATE' ? !(${allAllowed}) : object.?spec != oldObject.?spec`,
  },
  variables: {
    create: cel`request.operation == 'CREATE'`,
    specs: cel`
      [object.?spec.orValue({}), variables.create ? {} : oldObject.?spec.orValue({})]
        .map(s, type(s) == map ? s : {})
    `,
    // Of the new and of the old object; what is absent or no text is empty, as for the operator.
    references: cel`
      variables.specs.map(s, [
        ['kubeConfigSecretRef', 'namespace'],
        ['kubeConfigSecretRef', 'name'],
        ['kubeConfigSecretRef', 'key'],
        ['clusterRef', 'virtualCluster'],
        ['clusterRef', 'cluster'],
        ['clusterRef', 'namespace']
      ].map(p, type(s[?p[0]].orValue({})) == map ? s[?p[0]].orValue({})[?p[1]].orValue('') : '')
        .map(t, type(t) == string ? t : ''))
    `,
    // Namespace, name and entry; three empty ones: no Secret.
    secrets: cel`
      variables.references.map(r,
        request.resource.resource == 'virtualclusterinstances'
          ? [
              request.namespace,
              r[1] != '' ? r[1] : 'vc-' + (r[3] != '' ? r[3] : object.metadata.name),
              r[2] != '' ? r[2] : 'config'
            ]
          : request.resource.resource == 'clusters' && r[0] != '' && r[1] != ''
            ? [r[0], r[1], r[2] != '' ? r[2] : 'config']
            : ['', '', ''])
    `,
    newSecret: cel`variables.secrets[0][1] != '' && (variables.create || variables.secrets[0] != variables.secrets[1])`,
    cluster: cel`variables.references[0][4]`,
    newPlace: cel`
      variables.cluster != '' && request.resource.resource != 'clusters'
        && (variables.create || variables.cluster != variables.references[1][4]
          || variables.references[0][5] != variables.references[1][5])
    `,
  },
  validations: [
    {
      expression: cel`!variables.newSecret || !(variables.secrets[0][0] in ${list(ownNamespaces)})`,
      ...naming(
        'ERR_POLICY_SYSTEM_NAMESPACE',
        line`
        spec.kubeConfigSecretRef: the Secret must not be in latchkey-system or latchkey-targets, where Latchkey
        keeps its own; put the administrator kubeconfig into another namespace
      `,
        { Secret: secretPlace },
      ),
    },
    {
      expression: cel`
        !variables.newSecret || authorizer.group('').resource('secrets').namespace(variables.secrets[0][0])
          .name(variables.secrets[0][1]).check('get').allowed()
      `,
      ...naming(
        'ERR_POLICY_SECRET_RIGHTS',
        line`
        spec.kubeConfigSecretRef: you need the verb get on the Secret, also on the default one (vc- and the name
        of the virtual cluster) when the field is absent; have it granted, or name a Secret that
        you may get
      `,
        { Secret: secretPlace },
      ),
    },
    {
      expression: cel`
        !variables.newPlace || authorizer.group('management.platform.sh').resource('clusters').name(variables.cluster)
          .check('bind-namespace').allowed()
      `,
      ...naming(
        'ERR_POLICY_BIND_NAMESPACE',
        line`
        spec.clusterRef.cluster: you need the verb bind-namespace on the Cluster; have it granted, or name
        a Cluster on which you hold it
      `,
        { Cluster: 'variables.cluster' },
      ),
    },
  ],
});
