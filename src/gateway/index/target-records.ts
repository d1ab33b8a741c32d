import { labels, purposes, targetsNamespace } from '../../api/names.ts';
import { clusters, secrets, spaceInstances, virtualClusterInstances } from '../../api/resources.ts';
import { Store } from '../../kube/cache/store.ts';
import type { InformerSource, Informers } from '../../platform/informers.ts';
import { type TargetAccessRecord, toTargetAccessRecord } from '../../platform/targets/target-connections.ts';
import {
  type ClusterRecord,
  type SpaceInstanceRecord,
  toClusterRecord,
  toInstanceRecord,
  toSpaceRecord,
  type VirtualClusterInstanceRecord,
} from '../../platform/targets/target-record.ts';
import { proven } from './proven.ts';

/** What the gateway knows of all that requests can lead to. */
export class TargetRecords {
  readonly instances = new Store<VirtualClusterInstanceRecord>();
  readonly spaces = new Store<SpaceInstanceRecord>();
  readonly clusters = new Store<ClusterRecord>();
  readonly access = new Store<TargetAccessRecord>();

  /** Watches everything that is kept here. */
  addTo(informers: Pick<Informers, 'add'>): void {
    const { instances, spaces, clusters: store, access } = this;
    informers.add('virtualclusterinstances', {
      ...proven,
      resource: virtualClusterInstances,
      store: instances,
      project: toInstanceRecord,
    });
    informers.add('spaceinstances', {
      ...proven,
      resource: spaceInstances,
      store: spaces,
      project: toSpaceRecord,
    });
    informers.add('clusters', { ...proven, resource: clusters, store, project: toClusterRecord });
    const source: InformerSource<TargetAccessRecord> = {
      ...proven,
      resource: secrets,
      namespace: targetsNamespace,
      labelSelector: `${labels.purpose}=${purposes.target}`,
      store: access,
      project: toTargetAccessRecord,
    };
    informers.add('target-access', source);
  }
}
