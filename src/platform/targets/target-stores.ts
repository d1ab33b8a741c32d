import { MutationCache } from '../../kube/cache/mutation-cache.ts';
import { Store } from '../../kube/cache/store.ts';
import type { Clock } from '../../kube/clock.ts';
import type { ProjectRecord } from './project-record.ts';
import type { ClusterRecord, SpaceInstanceRecord, VirtualClusterInstanceRecord } from './target-record.ts';

/** All targets of credentials, as the operator knows them. */
export class TargetStores {
  readonly instances = new Store<VirtualClusterInstanceRecord>({ uid: ({ uid }) => [uid] });
  readonly clusters = new Store<ClusterRecord>({ uid: ({ uid }) => [uid] });
  readonly spaces = new Store<SpaceInstanceRecord>({
    cluster: ({ clusterRef }) => (clusterRef === undefined ? [] : [clusterRef.cluster]),
  });
  readonly projects = new Store<ProjectRecord>();
  readonly writtenInstances: MutationCache<VirtualClusterInstanceRecord>;
  readonly writtenClusters: MutationCache<ClusterRecord>;
  readonly writtenSpaces: MutationCache<SpaceInstanceRecord>;

  constructor(clock: Clock) {
    this.writtenInstances = new MutationCache(this.instances, clock);
    this.writtenClusters = new MutationCache(this.clusters, clock);
    this.writtenSpaces = new MutationCache(this.spaces, clock);
  }

  /** By `namespace/name`. */
  instance(key: string): VirtualClusterInstanceRecord | undefined {
    return this.writtenInstances.get(key);
  }

  cluster(name: string): ClusterRecord | undefined {
    return this.writtenClusters.get(name);
  }

  /** By `namespace/name`. */
  space(key: string): SpaceInstanceRecord | undefined {
    return this.writtenSpaces.get(key);
  }
}
