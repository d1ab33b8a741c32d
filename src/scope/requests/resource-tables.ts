import { group } from '../../api/names.ts';

/** Resources by API group. */
type ResourceTable = Readonly<Record<string, readonly string[]>>;

/**
 * The resources without a namespace that Kubernetes 1.36 and Latchkey bring along. The path of a list does not tell whether its
 * objects have one; a resource that is not known here counts as one of namespaces, so that a rule never allows too much.
 */
const clusterScoped: ResourceTable = {
  '': ['componentstatuses', 'namespaces', 'nodes', 'persistentvolumes'],
  'admissionregistration.k8s.io': [
    'mutatingadmissionpolicies',
    'mutatingadmissionpolicybindings',
    'mutatingwebhookconfigurations',
    'validatingadmissionpolicies',
    'validatingadmissionpolicybindings',
    'validatingwebhookconfigurations',
  ],
  'apiextensions.k8s.io': ['customresourcedefinitions'],
  'apiregistration.k8s.io': ['apiservices'],
  'authentication.k8s.io': ['selfsubjectreviews', 'tokenreviews'],
  'authorization.k8s.io': ['selfsubjectaccessreviews', 'selfsubjectrulesreviews', 'subjectaccessreviews'],
  'certificates.k8s.io': ['certificatesigningrequests', 'clustertrustbundles'],
  'flowcontrol.apiserver.k8s.io': ['flowschemas', 'prioritylevelconfigurations'],
  'internal.apiserver.k8s.io': ['storageversions'],
  'networking.k8s.io': ['ingressclasses', 'ipaddresses', 'servicecidrs'],
  'node.k8s.io': ['runtimeclasses'],
  'rbac.authorization.k8s.io': ['clusterrolebindings', 'clusterroles'],
  'resource.k8s.io': ['deviceclasses', 'devicetaintrules', 'resourceslices'],
  'scheduling.k8s.io': ['priorityclasses'],
  'storage.k8s.io': [
    'csidrivers',
    'csinodes',
    'storageclasses',
    'volumeattachments',
    'volumeattributesclasses',
  ],
  'storagemigration.k8s.io': ['storageversionmigrations'],
  [group]: ['clusters', 'directclusterendpointtokens', 'ownedaccesskeys', 'projects', 'selves'],
};

/** Whether objects of this resource are known to have no namespace. */
export const isClusterScoped = resourceSet(clusterScoped);

/** The groups of Kubernetes itself with objects that have a namespace, and ours. */
const groupsWithNamespaces: ReadonlySet<string> = new Set([
  '',
  'apps',
  'authorization.k8s.io',
  'autoscaling',
  'batch',
  'certificates.k8s.io',
  'coordination.k8s.io',
  'discovery.k8s.io',
  'events.k8s.io',
  'networking.k8s.io',
  'policy',
  'rbac.authorization.k8s.io',
  'resource.k8s.io',
  'scheduling.k8s.io',
  'storage.k8s.io',
  group,
]);

/** Whether the API server answers for this group itself, and selects its objects by `metadata.namespace`. */
export const selectsByNamespace = (apiGroup: string): boolean => groupsWithNamespaces.has(apiGroup);

/** The resources of Kubernetes 1.36 of which a PUT makes the object where there is none. */
const madeByPut: ResourceTable = {
  '': ['endpoints', 'events', 'limitranges', 'services'],
  'coordination.k8s.io': ['leasecandidates', 'leases'],
  'events.k8s.io': ['events'],
  'node.k8s.io': ['runtimeclasses'],
  'rbac.authorization.k8s.io': ['clusterrolebindings', 'clusterroles', 'rolebindings', 'roles'],
};

/** Whether the verb `update` makes an object as well: the API server asks for `create` besides, and so must a scope. */
export const isMadeByPut = resourceSet(madeByPut);

/** Tells whether a resource is in the table. A request costs two look-ups. */
function resourceSet(table: ResourceTable): (apiGroup: string, resource: string) => boolean {
  const sets = new Map(Object.entries(table).map(([group, resources]) => [group, new Set(resources)]));
  return (apiGroup, resource) => sets.get(apiGroup)?.has(resource) === true;
}
