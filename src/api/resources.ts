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

export const ownedAccessKeys = own('OwnedAccessKey', 'ownedaccesskeys', false);
export const directClusterEndpointTokens = own(
  'DirectClusterEndpointToken',
  'directclusterendpointtokens',
  false,
);
export const virtualClusterInstanceKubeConfigs = own(
  'VirtualClusterInstanceKubeConfig',
  'virtualclusterinstancekubeconfigs',
  true,
);
export const virtualClusterInstances = own('VirtualClusterInstance', 'virtualclusterinstances', true);
export const spaceInstances = own('SpaceInstance', 'spaceinstances', true);
export const clusters = own('Cluster', 'clusters', false);

export const secrets = core('Secret', 'secrets');
export const configMaps = core('ConfigMap', 'configmaps');
export const namespaces = core('Namespace', 'namespaces', false);
export const leases: Resource = {
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  kind: 'Lease',
  namespaced: true,
};
export const events: Resource = {
  group: 'events.k8s.io',
  version: 'v1',
  plural: 'events',
  kind: 'Event',
  namespaced: true,
};
