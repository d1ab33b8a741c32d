import { isReady } from '../../api/conditions.ts';
import { reasons } from '../../api/reasons.ts';
import type { ClusterRecord, SpaceInstanceRecord } from '../../platform/targets/target-record.ts';
import type { TargetStores } from '../../platform/targets/target-stores.ts';
import { connected, type DesiredTargetStatus, refused } from './target-status.ts';
import type { TargetWriter } from './target-writer.ts';

export interface SpaceControllerOptions {
  readonly targets: Pick<TargetStores, 'space' | 'cluster'>;
  readonly writer: TargetWriter<SpaceInstanceRecord>;
}

/** Reports whether spaces can be used. Nothing is made for them, so they have no finalizer. */
export class SpaceController {
  readonly #options: SpaceControllerOptions;

  constructor(options: SpaceControllerOptions) {
    this.#options = options;
  }

  /** `namespace/name`. */
  async reconcile(key: string): Promise<undefined> {
    const { targets, writer } = this.#options;
    const record = targets.space(key);
    if (record === undefined || record.deleted !== undefined) return undefined;
    const { clusterRef } = record;
    const cluster = clusterRef === undefined ? undefined : targets.cluster(clusterRef.cluster);
    await writer.writeStatus(record, spaceStatus(record, cluster));
    return undefined;
  }
}

/** A space is as ready as the Cluster that it is in. The namespace itself is not checked. */
export function spaceStatus(
  { clusterRef }: SpaceInstanceRecord,
  cluster: ClusterRecord | undefined,
): DesiredTargetStatus {
  if (clusterRef === undefined) return refused(nowhere, true);
  if (cluster === undefined) return refused(notFound(clusterRef.cluster));
  return isUsable(cluster) ? connected(ready) : refused(notReady(clusterRef.cluster));
}

const isUsable = (cluster: ClusterRecord): boolean => cluster.deleted === undefined && isReady(cluster);

const ready = 'The cluster of this space can be used.';

const nowhere = {
  reason: reasons.clusterNotFound,
  message:
    'spec.clusterRef does not name a Cluster and a namespace: delete this SpaceInstance and create it with both.',
};

const notFound = (name: string) => ({
  reason: reasons.clusterNotFound,
  message: `The Cluster "${name}" in spec.clusterRef does not exist: create it.`,
});

const notReady = (name: string) => ({
  reason: reasons.clusterNotReady,
  message: `The Cluster "${name}" in spec.clusterRef is not ready: kubectl describe clusters.management.platform.sh ${name}`,
});
