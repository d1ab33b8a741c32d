import { type ResourceTable, resourceSet } from './resource-set.ts';

/** The resources of Kubernetes 1.36 of which a PUT makes the object where there is none. */
const madeByPut: ResourceTable = {
  '': ['endpoints', 'events', 'limitranges', 'services'],
  'coordination.k8s.io': ['leases'],
  'events.k8s.io': ['events'],
  'node.k8s.io': ['runtimeclasses'],
  'rbac.authorization.k8s.io': ['clusterrolebindings', 'clusterroles', 'rolebindings', 'roles'],
};

/** Whether the verb `update` makes an object as well: the API server asks for `create` besides, and so must a scope. */
export const isMadeByPut = resourceSet(madeByPut);
