import { byCredentialKind, credentialKinds } from './credential-kinds.ts';
import { group, version } from './names.ts';

/** A kind of object as the API server serves it. `group` is empty for the core group. */
export interface Resource {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

const own = (kind: string, plural: string, namespaced: boolean): Resource => ({
  group,
  version,
  plural,
  kind,
  namespaced,
});

const core = (kind: string, plural: string, namespaced = true): Resource => ({
  group: '',
  version: 'v1',
  plural,
  kind,
  namespaced,
});

/** Of each kind of credential. */
export const credentialResources = byCredentialKind((kind) => {
  const { plural, namespaced } = credentialKinds[kind];
  return own(kind, plural, namespaced);
});
export const {
  OwnedAccessKey: ownedAccessKeys,
  DirectClusterEndpointToken: directClusterEndpointTokens,
  VirtualClusterInstanceKubeConfig: virtualClusterInstanceKubeConfigs,
} = credentialResources;
export const virtualClusterInstances = own('VirtualClusterInstance', 'virtualclusterinstances', true);
export const spaceInstances = own('SpaceInstance', 'spaceinstances', true);
export const clusters = own('Cluster', 'clusters', false);
export const credentialLocks = own('CredentialLock', 'credentiallocks', false);
/** Not stored: the gateway shows the namespaces with the label of a project as such. */
export const projects = own('Project', 'projects', false);

export const secrets = core('Secret', 'secrets');
export const configMaps = core('ConfigMap', 'configmaps');
export const namespaces = core('Namespace', 'namespaces', false);
export const serviceAccounts = core('ServiceAccount', 'serviceaccounts');

const rbac = (kind: string, plural: string, namespaced: boolean): Resource => ({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  plural,
  kind,
  namespaced,
});

export const clusterRoles = rbac('ClusterRole', 'clusterroles', false);
export const clusterRoleBindings = rbac('ClusterRoleBinding', 'clusterrolebindings', false);
export const roles = rbac('Role', 'roles', true);
export const roleBindings = rbac('RoleBinding', 'rolebindings', true);
export const certificateSigningRequests: Resource = {
  group: 'certificates.k8s.io',
  version: 'v1',
  plural: 'certificatesigningrequests',
  kind: 'CertificateSigningRequest',
  namespaced: false,
};
/** Never stored: the API server answers the create. */
export const subjectAccessReviews: Resource = {
  group: 'authorization.k8s.io',
  version: 'v1',
  plural: 'subjectaccessreviews',
  kind: 'SubjectAccessReview',
  namespaced: false,
};
/** The same about the user who asks. */
export const selfSubjectAccessReviews: Resource = {
  ...subjectAccessReviews,
  plural: 'selfsubjectaccessreviews',
  kind: 'SelfSubjectAccessReview',
};
/** Never stored either. */
export const tokenReviews: Resource = {
  group: 'authentication.k8s.io',
  version: 'v1',
  plural: 'tokenreviews',
  kind: 'TokenReview',
  namespaced: false,
};
/** The rules of the user who asks, in one namespace. */
export const selfSubjectRulesReviews: Resource = {
  ...subjectAccessReviews,
  plural: 'selfsubjectrulesreviews',
  kind: 'SelfSubjectRulesReview',
};
/** Which server answers for a version of a group. */
export const apiServices: Resource = {
  group: 'apiregistration.k8s.io',
  version: 'v1',
  plural: 'apiservices',
  kind: 'APIService',
  namespaced: false,
};
export const leases: Resource = {
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  kind: 'Lease',
  namespaced: true,
};
export const deployments: Resource = {
  group: 'apps',
  version: 'v1',
  plural: 'deployments',
  kind: 'Deployment',
  namespaced: true,
};
export const events: Resource = {
  group: 'events.k8s.io',
  version: 'v1',
  plural: 'events',
  kind: 'Event',
  namespaced: true,
};
/** Of SIG Multicluster, and defined by a CRD that the site installs. */
export const clusterProfiles: Resource = {
  group: 'multicluster.x-k8s.io',
  version: 'v1alpha1',
  plural: 'clusterprofiles',
  kind: 'ClusterProfile',
  namespaced: true,
};
