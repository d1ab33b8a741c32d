import { labels, purposes, targetsNamespace } from '../../api/names.ts';
import {
  clusters,
  namespaces,
  secrets,
  spaceInstances,
  virtualClusterInstances,
} from '../../api/resources.ts';
import { Store, type StoreChange } from '../../kube/cache/store.ts';
import { provenWatches } from '../../kube/cache/watch-requests.ts';
import type { InformerSource, Informers } from '../../platform/informers.ts';
import { KnownTargets } from '../../platform/targets/known-targets.ts';
import { type ProjectRecord, projectOf, toProjectRecord } from '../../platform/targets/project-record.ts';
import { type TargetAccessRecord, toTargetAccessRecord } from '../../platform/targets/target-connections.ts';
import {
  type ClusterRecord,
  type SpaceInstanceRecord,
  type TargetRecord,
  toClusterRecord,
  toInstanceRecord,
  toSpaceRecord,
  type VirtualClusterInstanceRecord,
} from '../../platform/targets/target-record.ts';

/** All targets of requests, as the gateway knows them. */
export class TargetRecords {
  readonly instances = new Store<VirtualClusterInstanceRecord>();
  readonly spaces = new Store<SpaceInstanceRecord>();
  readonly clusters = new Store<ClusterRecord>();
  readonly access = new Store<TargetAccessRecord>();
  readonly projects = new Store<ProjectRecord>();
  /** Under which names scopes find something. */
  readonly known: KnownTargets;
  readonly #prefix: string;
  #projectsVersion = 0;

  /** `onGone`: called with the UID of a target that is gone, is being deleted, or is another one under the same name. A project goes with its targets. */
  constructor(projectNamespacePrefix: string, onGone: (uid: string) => void = () => undefined) {
    this.#prefix = projectNamespacePrefix;
    this.known = new KnownTargets(this, projectNamespacePrefix);
    this.projects.subscribe(({ previous, current }) => {
      const isSame = previous?.label === current?.label && previous?.isDeleting === current?.isDeleting;
      if (!isSame) this.#projectsVersion += 1;
    });
    const onChange = ({ previous, current }: StoreChange<TargetRecord>) => {
      const isSame = previous?.uid === current?.uid && previous?.deleted === current?.deleted;
      if (previous !== undefined && !isSame) onGone(previous.uid);
    };
    for (const store of [this.instances, this.spaces, this.clusters]) store.subscribe(onChange);
  }

  /** Another number whenever `findProject` may say something else. */
  get projectsVersion(): number {
    return this.#projectsVersion;
  }

  readonly findProject = (namespace: string): string | undefined => {
    const record = this.projects.get(namespace);
    return record && projectOf(record, this.#prefix);
  };

  /** Watches everything that is kept here. */
  addTo(informers: Pick<Informers, 'add'>): void {
    const { instances, spaces, clusters: store, access, projects } = this;
    informers.add('virtualclusterinstances', {
      ...provenWatches,
      resource: virtualClusterInstances,
      store: instances,
      toRecord: toInstanceRecord,
    });
    informers.add('spaceinstances', {
      ...provenWatches,
      resource: spaceInstances,
      store: spaces,
      toRecord: toSpaceRecord,
    });
    informers.add('clusters', { ...provenWatches, resource: clusters, store, toRecord: toClusterRecord });
    informers.add('projects', {
      ...provenWatches,
      resource: namespaces,
      labelSelector: labels.project,
      store: projects,
      toRecord: toProjectRecord,
    });
    const source: InformerSource<TargetAccessRecord> = {
      ...provenWatches,
      resource: secrets,
      namespace: targetsNamespace,
      labelSelector: `${labels.purpose}=${purposes.target}`,
      store: access,
      toRecord: toTargetAccessRecord,
    };
    informers.add('target-access', source);
  }
}
