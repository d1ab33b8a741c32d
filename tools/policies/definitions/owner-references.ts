import { allCredentialKinds, credentialKinds } from '../../../src/api/credential-kinds.ts';
import { celMap, kinds, list, notExempt } from '../fragments.ts';
import { naming, type Validation, validating } from '../policy.ts';
import { cel, line, text } from '../text.ts';

/** Plurals that are not as Kubernetes guesses them. */
const plurals = {
  'OwnedAccessKey.management.platform.sh': 'ownedaccesskeys',
  'Gateway.gateway.networking.k8s.io': 'gateways',
};

const ours = (namespaced: boolean, ...targets: readonly string[]): readonly string[] =>
  [
    ...allCredentialKinds.filter((kind) => credentialKinds[kind].namespaced === namespaced),
    ...targets,
  ].sort();

/** Kinds without a namespace, by API group. */
const clusterScoped = {
  '': ['ComponentStatus', 'Namespace', 'Node', 'PersistentVolume'],
  'admissionregistration.k8s.io': [
    'MutatingAdmissionPolicy',
    'MutatingAdmissionPolicyBinding',
    'MutatingWebhookConfiguration',
    'ValidatingAdmissionPolicy',
    'ValidatingAdmissionPolicyBinding',
    'ValidatingWebhookConfiguration',
  ],
  'apiextensions.k8s.io': ['CustomResourceDefinition'],
  'apiregistration.k8s.io': ['APIService'],
  'certificates.k8s.io': ['CertificateSigningRequest', 'ClusterTrustBundle'],
  'flowcontrol.apiserver.k8s.io': ['FlowSchema', 'PriorityLevelConfiguration'],
  'internal.apiserver.k8s.io': ['StorageVersion'],
  'management.platform.sh': ours(false, 'Cluster', 'CredentialLock'),
  'networking.k8s.io': ['IPAddress', 'IngressClass', 'ServiceCIDR'],
  'node.k8s.io': ['RuntimeClass'],
  'rbac.authorization.k8s.io': ['ClusterRole', 'ClusterRoleBinding'],
  'resource.k8s.io': ['DeviceClass', 'DeviceTaintRule', 'ResourceSlice'],
  'scheduling.k8s.io': ['PriorityClass'],
  'storage.k8s.io': ['CSIDriver', 'CSINode', 'StorageClass', 'VolumeAttachment', 'VolumeAttributesClass'],
  'storagemigration.k8s.io': ['StorageVersionMigration'],
};

const namespaced = {
  '': [
    'ConfigMap',
    'Endpoints',
    'Event',
    'LimitRange',
    'PersistentVolumeClaim',
    'Pod',
    'PodTemplate',
    'ReplicationController',
    'ResourceQuota',
    'Secret',
    'Service',
    'ServiceAccount',
  ],
  apps: ['ControllerRevision', 'DaemonSet', 'Deployment', 'ReplicaSet', 'StatefulSet'],
  autoscaling: ['HorizontalPodAutoscaler'],
  batch: ['CronJob', 'Job'],
  'coordination.k8s.io': ['Lease'],
  'discovery.k8s.io': ['EndpointSlice'],
  'events.k8s.io': ['Event'],
  'gateway.networking.k8s.io': ['Gateway'],
  'management.platform.sh': ours(true, 'SpaceInstance', 'VirtualClusterInstance'),
  'networking.k8s.io': ['Ingress', 'NetworkPolicy'],
  policy: ['PodDisruptionBudget'],
  'rbac.authorization.k8s.io': ['Role', 'RoleBinding'],
  'resource.k8s.io': ['ResourceClaim', 'ResourceClaimTemplate'],
  'storage.k8s.io': ['CSIStorageCapacity'],
};

/**
 * Each costs as much as the API server allows an expression. Whether a kind that stands in neither list is namespaced
 * cannot be told. Rights on it in the namespace of the object count, unless they hold for kinds that do not exist, too:
 * an administrator of a namespace, who may delete everything in there, could otherwise block owners outside of it.
 */
const mayBlock = (place: number): string => cel`
  variables.owners[?${place.toString()}].optMap(o,
    authorizer.group(o.group).resource(o.resource).name(o.name).namespace(
      o.known == '' && authorizer.group(o.group).resource('kinds-that-nobody-has').namespace(o.namespace)
        .name(o.name).check('delete').allowed() ? '' : o.namespace
    ).check('delete').allowed()
    && (o.credential == '' || authorizer.group(o.group).resource(o.resource).namespace(o.namespace).name(o.name)
      .check('get').allowed())
  ).orValue(true)
`;

/** One for each place: the API server gives a message no authorizer, so one for all could not say which owner it is. */
const mayBeHeldUp = (place: number): Validation => ({
  expression: mayBlock(place),
  ...naming(
    'ERR_POLICY_OWNER_REFERENCE',
    line`
      metadata.ownerReferences: blockOwnerDeletion needs the verb delete on the owner, and get as well when it
      is an access key, a token or a kubeconfig; have them granted, or leave blockOwnerDeletion out
    `,
    { owner: `variables.kinds[${place}].kind + '/' + variables.kinds[${place}].name` },
  ),
  reason: 'Invalid',
});

const isReadable = cel`
  r.kind.matches('^[A-Za-z][A-Za-z0-9-]{0,62}$') && r.apiVersion.matches('^([a-z0-9][a-z0-9.-]*/)?[a-z0-9-]+$')
    && (!r.apiVersion.startsWith('management.platform.sh/')
      || (r.apiVersion == 'management.platform.sh/v1' && r.kind in variables.credentials
        + ['VirtualClusterInstance', 'SpaceInstance', 'Cluster']))
`;

export const ownerReferences = validating({
  name: 'latchkey-owner-references',
  protects: 'comfort',
  about: text`
    A reference with blockOwnerDeletion holds up the deletion of its owner in the foreground, so it needs the right to delete
    that owner. For access keys, tokens and kubeconfigs it needs \`get\`, too: self-service holds \`delete\` on all of them and is
    judged by ownership. Everything else about owner references is left to Kubernetes; what they hold on to grants nothing
    once the parent key is gone. As Kubernetes' own OwnerReferencesPermissionEnforcement this judges what is newly set, by
    UID, and answers 422. The garbage collector takes blocks away and never sets one; it is exempt all the same.
  `,
  operations: ['CREATE', 'UPDATE'],
  resources: kinds,
  matchConditions: {
    'any-reference': cel`has(object.metadata.ownerReferences)`,
    // Any number of references that stay as they are never stands in the way of releasing an object.
    'references-changed': cel`
      object.metadata.?ownerReferences.orValue([])
        != (request.operation == 'CREATE' ? [] : oldObject.metadata.?ownerReferences.orValue([]))
    `,
    'not-exempt': notExempt,
    // Most references block nothing, and end here: to evaluate the rest costs the API server more.
    blocking: cel`object.metadata.?ownerReferences.orValue([]).exists(r, r.?blockOwnerDeletion.orValue(false))`,
  },
  variables: {
    blocking: cel`object.metadata.?ownerReferences.orValue([]).filter(r, r.?blockOwnerDeletion.orValue(false))`,
    blockingBefore: cel`
      request.operation == 'CREATE'
        ? []
        : oldObject.metadata.?ownerReferences.orValue([]).filter(r, r.?blockOwnerDeletion.orValue(false)).map(r, r.uid)
    `,
    // Longer lists could cost more than the API server allows.
    added: cel`size(variables.blocking) > 64 ? variables.blocking : variables.blocking.filter(r, !(r.uid in variables.blockingBefore))`,
    withinLimit: cel`size(variables.added) <= 8`,
    credentials: list(allCredentialKinds),
    unreadable: cel`
      variables.withinLimit ? variables.added.filter(r, !(${isReadable})) : []
    `,
    readable: cel`size(variables.unreadable) == 0`,
    plurals: celMap(plurals),
    clusterScoped: celMap(clusterScoped),
    namespaced: celMap(namespaced),
    objectNamespace: cel`request.?namespace.orValue('')`,
    kinds: cel`
      (variables.withinLimit && variables.readable ? variables.added : []).map(r, {
        'name': string(r.name),
        'kind': string(r.kind),
        'lower': r.kind.lowerAscii(),
        'group': r.apiVersion.contains('/') ? r.apiVersion.split('/')[0] : ''
      })
    `,
    // The resource is guessed as Kubernetes does (UnsafeGuessKindToResource of its library apimachinery).
    owners: cel`
      variables.kinds.map(k, {
        'name': k.name,
        'group': k.group,
        'resource': variables.plurals[?k.kind + '.' + k.group].orValue(
          k.lower.endsWith('endpoints') ? k.lower
            : k.lower.endsWith('s') ? k.lower + 'es'
            : k.lower.endsWith('y') ? k.lower.substring(0, size(k.lower) - 1) + 'ies'
            : k.lower + 's'),
        'namespace': k.kind in variables.clusterScoped[?k.group].orValue([]) ? '' : variables.objectNamespace,
        'known': variables.objectNamespace == '' || k.kind in variables.clusterScoped[?k.group].orValue([])
          || k.kind in variables.namespaced[?k.group].orValue([]) ? 'true' : '',
        'credential': k.group == 'management.platform.sh' && k.kind in variables.credentials ? 'true' : ''
      })
    `,
  },
  validations: [
    {
      expression: cel`variables.withinLimit`,
      ...naming(
        'ERR_POLICY_OWNER_REFERENCE',
        line`
          metadata.ownerReferences: blockOwnerDeletion can be set for at most 8 owners at once, and for 64 in all;
          set it for the others in another request, or leave it out
        `,
      ),
      reason: 'Invalid',
    },
    {
      expression: cel`variables.readable`,
      ...naming(
        'ERR_POLICY_OWNER_REFERENCE',
        line`
          metadata.ownerReferences: blockOwnerDeletion needs an owner of which kind and API group can be told;
          correct kind and apiVersion of the reference, or leave blockOwnerDeletion out
        `,
        { owner: "variables.unreadable[0].kind + '/' + variables.unreadable[0].name" },
      ),
      reason: 'Invalid',
    },
    ...Array.from({ length: 8 }, (_, place) => mayBeHeldUp(place)),
  ],
});
