import { conditionTypes, findCondition } from '../../api/conditions.ts';
import { groups } from '../../api/names.ts';
import { reasons } from '../../api/reasons.ts';
import { clusters, type Resource, spaceInstances, virtualClusterInstances } from '../../api/resources.ts';
import type { Clock } from '../../kube/clock.ts';
import type { AccessQuestion } from '../../platform/access-review.ts';
import type { TargetConnections } from '../../platform/targets/target-connections.ts';
import type { TargetRecord } from '../../platform/targets/target-record.ts';
import { confirmedAddress } from '../../platform/targets/target-reference.ts';
import { isObjectName, type RequestTarget } from '../../scope/request-path.ts';
import type { EnteredTarget } from '../gate/open-requests.ts';
import type { TargetRecords } from '../index/target-records.ts';
import { ApiServerUpstream, type Upstream, type UpstreamLimits } from './upstream.ts';

/** Where requests to a target go. */
export interface FoundTarget extends EnteredTarget {
  /** Undefined while the operator has no access to it. */
  readonly upstream: Upstream | undefined;
  /** Groups that every user has there, besides those of the credential. */
  readonly groups: readonly string[];
  /** Of a space: the operator has looked, and found that its namespace is not there. */
  readonly isNamespaceMissing?: boolean;
}

export interface TargetsOptions {
  readonly platform: Upstream;
  readonly records: TargetRecords;
  readonly connections: Pick<TargetConnections, 'find'>;
  readonly projectNamespacePrefix: string;
  readonly limits: UpstreamLimits;
  readonly clock: Clock;
}

/** Finds the API servers that requests lead to. */
export class Targets {
  readonly #options: TargetsOptions;
  readonly #platform: FoundTarget;
  readonly #upstreams = new WeakMap<object, Upstream>();

  constructor(options: TargetsOptions) {
    this.#options = options;
    this.#platform = { uids: '', upstream: options.platform, groups: [], isPlatform: true };
  }

  /** Undefined where no such object is, or where it or its project is being deleted. */
  find(target: RequestTarget): FoundTarget | undefined {
    switch (target.kind) {
      case 'management':
        return this.#platform;
      case 'cluster':
        return this.#findCluster(target.cluster);
      case 'space':
        return this.#findSpace(this.#namespaceOf(target.project), target.space);
      case 'virtualCluster':
        return this.#findInstance(this.#namespaceOf(target.project), target.virtualCluster);
    }
  }

  /**
   * The right that entering needs, whether the target is there or not: without this right no one learns which targets there are. Undefined
   * for the platform, and for names that nothing can have.
   */
  entryOf(target: RequestTarget): AccessQuestion | undefined {
    switch (target.kind) {
      case 'management':
        return undefined;
      case 'cluster':
        return possible(entryTo(clusters, '', target.cluster));
      case 'space':
        return possible(entryTo(spaceInstances, this.#place(target.project), target.space));
      case 'virtualCluster':
        return possible(entryTo(virtualClusterInstances, this.#place(target.project), target.virtualCluster));
    }
  }

  #findCluster(name: string): FoundTarget | undefined {
    const record = present(this.#options.records.clusters.get(name));
    if (record === undefined) return undefined;
    const entry = entryTo(clusters, '', name);
    return { uids: record.uid, ...this.#accessTo(record.uid), groups: [], entry };
  }

  #findSpace(namespace: string | undefined, name: string): FoundTarget | undefined {
    if (namespace === undefined) return undefined;
    const { spaces, clusters: all } = this.#options.records;
    const record = present(spaces.get(`${namespace}/${name}`));
    if (record?.clusterRef === undefined) return undefined;
    const place = confirmedAddress(record);
    const cluster = place && present(all.get(place.cluster));
    // A Cluster that was made again is another one, until the operator has confirmed it.
    const isConfirmed = place?.uid === undefined || place.uid === cluster?.uid;
    return {
      uids: `${record.uid} ${cluster?.uid}`,
      ...this.#accessTo(isConfirmed ? cluster?.uid : undefined),
      namespace: place?.namespace ?? record.clusterRef.namespace,
      isNamespaceMissing: readyReason(record) === reasons.namespaceNotFound,
      groups: [],
      entry: entryTo(spaceInstances, namespace, name),
    };
  }

  #findInstance(namespace: string | undefined, name: string): FoundTarget | undefined {
    if (namespace === undefined) return undefined;
    const record = present(this.#options.records.instances.get(`${namespace}/${name}`));
    if (record === undefined) return undefined;
    const entry = entryTo(virtualClusterInstances, namespace, name);
    return { uids: record.uid, ...this.#accessTo(record.uid), groups: [groups.users], entry };
  }

  #accessTo(uid: string | undefined): Pick<FoundTarget, 'upstream' | 'isPlatform'> {
    const connection = uid === undefined ? undefined : this.#options.connections.find(uid);
    if (connection === undefined) return { upstream: undefined, isPlatform: true };
    const { limits, clock } = this.#options;
    const known = this.#upstreams.get(connection) ?? new ApiServerUpstream({ ...connection, limits, clock });
    this.#upstreams.set(connection, known);
    return { upstream: known, isPlatform: connection.isPlatform() };
  }

  #place(project: string): string {
    return this.#options.projectNamespacePrefix + project;
  }

  /** Undefined where the namespace with that name is no project. */
  #namespaceOf(project: string): string | undefined {
    const namespace = this.#place(project);
    return this.#options.records.findProject(namespace) === project ? namespace : undefined;
  }
}

const readyReason = ({ conditions }: TargetRecord): string | undefined =>
  findCondition(conditions, conditionTypes.ready)?.reason;

const entryTo = ({ plural }: Resource, namespace: string, name: string): AccessQuestion => ({
  verb: 'use',
  resource: plural,
  namespace,
  name,
});

/** A question is kept for a while: a longer name could fill the memory. */
const possible = (entry: AccessQuestion): AccessQuestion | undefined =>
  label.test(entry.namespace || 'none') && isObjectName(entry.name) ? entry : undefined;

const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

const present = <R extends TargetRecord>(record: R | undefined): R | undefined =>
  record?.deleted === undefined ? record : undefined;
