// Generated from crds/ownedaccesskeys.yaml by `npm run generate`. Do not edit.

/**
 * Limits what the credential may be used for. It only takes rights away; it never adds any. A request passes when any one entry allows it. Without this field nothing is narrowed. `{}` or null leaves nothing but Self and discovery. Prefer `{}` to null: in a merge patch null removes the field, and with it the restriction.
 */
export interface Scope {
  /**
   * Named sets of permissions that may be used.
   */
  roles?: ScopeRole[];
  /**
   * Projects whose spaces and virtual clusters may be used.
   */
  projects?: ScopeProject[];
  /**
   * Spaces that may be used.
   */
  spaces?: ScopeSpace[];
  /**
   * Virtual clusters that may be used.
   */
  virtualClusters?: ScopeVirtualCluster[];
  /**
   * Connected clusters that may be used.
   */
  clusters?: ScopeCluster[];
  /**
   * @deprecated
   * Rules, each of which allows the requests that fit all of its fields. Deprecated: use projects, spaces, virtualClusters, clusters and roles.
   */
  rules?: ScopeRule[];
  /**
   * @deprecated
   * Allows the reads that the command line client makes, if true: `allowPlatformCli` under the name and in the place of older clients. Deprecated: use the role `platform-cli`.
   */
  allowLoftCli?: boolean;
}
export interface ScopeRole {
  /**
   * Name of the role. `platform-user` allows what the user may do on the platform's own API server, and in no target. `platform-cli` (also written `loft-cli`) allows the reads that the command line client makes. `network-peer`, `agent`, `vcluster`, `runner` and `workspace` are known and allow nothing but Self. Any other name allows nothing.
   */
  role?: string;
  /**
   * Projects that the role is limited to. Empty means every project.
   */
  projects?: string[];
  /**
   * Virtual clusters that the role is limited to. Empty means every virtual cluster.
   */
  virtualClusters?: string[];
}
export interface ScopeProject {
  /**
   * Name of the project; `*` for all of them. Empty matches nothing.
   */
  project?: string;
}
export interface ScopeSpace {
  /**
   * Project of the space. Empty matches nothing.
   */
  project?: string;
  /**
   * Name of the space; `*` for all spaces of the project. Empty matches nothing.
   */
  space?: string;
}
export interface ScopeVirtualCluster {
  /**
   * Project of the virtual cluster. Empty matches nothing.
   */
  project?: string;
  /**
   * Name of the virtual cluster; `*` for all virtual clusters of the project. Empty matches nothing.
   */
  virtualCluster?: string;
}
export interface ScopeCluster {
  /**
   * Name of the cluster; `*` for all of them. Empty matches nothing.
   */
  cluster?: string;
}

export interface ScopeRule {
  /**
   * Verbs that match. Empty means every verb.
   */
  verbs?: string[];
  /**
   * Resources that match. Empty means every resource of every API group.
   */
  resources?: ScopeRuleResource[];
  /**
   * Names of objects that match. Needs resources. Empty means every object. A request without a name never matches.
   */
  resourceNames?: string[];
  /**
   * Namespaces that match; the empty string is a resource without namespace. Empty means every namespace.
   */
  namespaces?: string[];
  /**
   * Paths that are not resources. `*` may stand only as the complete last step of the path; alone it matches every path.
   */
  nonResourceURLs?: string[];
  /**
   * Targets of a request that match. Empty means every target.
   */
  requestTargets?: ('Management' | 'Cluster' | 'ProjectSpace' | 'ProjectVirtualCluster')[];
  /**
   * Connected cluster that matches. When set, only requests to a connected cluster match. Empty means no restriction.
   */
  cluster?: string;
  /**
   * Virtual clusters that match. When set, only requests to a virtual cluster match. Empty means no restriction.
   */
  virtualClusters?: ScopeRuleVirtualCluster[];
}
export interface ScopeRuleResource {
  /**
   * Name of the API group; the empty string is the core group.
   */
  group?: string;
  /**
   * Names of resources. `*` is all resources with their subresources, `name/*` all subresources of one resource, `* /sub` one subresource of any resource, `name/sub` one subresource of one resource. Where one entry has a wildcard, no other entry may match the same thing. Empty means all resources and subresources of the group.
   */
  resources?: string[];
  /**
   * Names of objects that match; the position that older clients use. Needs resources. Empty means every object.
   */
  resourceNames?: string[];
}
export interface ScopeRuleVirtualCluster {
  /**
   * Name of the virtual cluster. Empty means all of them.
   */
  name?: string;
  /**
   * Namespace of the virtual cluster. Empty means all of them.
   */
  namespace?: string;
}
