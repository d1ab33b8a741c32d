import { group } from '../../api/names.ts';
import { type ResourceTable, resourceSet } from './resource-set.ts';

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
  [group]: ['clusters', 'directclusterendpointtokens', 'ownedaccesskeys', 'selves'],
};

/** Whether objects of this resource are known to have no namespace. */
export const isClusterScoped = resourceSet(clusterScoped);
