import { conditionTypes, findCondition, isReady } from '../../api/conditions.ts';
import { reasons } from '../../api/reasons.ts';
import type { WorkResult } from '../../kube/queue/workers.ts';
import type { ClusterRecord, SpaceInstanceRecord } from '../../platform/targets/target-record.ts';
import type { TargetStores } from '../../platform/targets/target-stores.ts';
import type { ReferenceCheck } from './reference-check.ts';
import { connected, type DesiredTargetStatus, refused } from './target-status.ts';
import type { TargetWriter } from './target-writer.ts';

export interface SpaceControllerOptions {
  readonly targets: Pick<TargetStores, 'space' | 'cluster'>;
  readonly writer: TargetWriter<SpaceInstanceRecord>;
  readonly references: Pick<ReferenceCheck, 'check' | 'refusal'>;
}

/** Reports whether spaces can be used. Nothing is made for them, so they have no finalizer. */
export class SpaceController {
  readonly #options: SpaceControllerOptions;

  constructor(options: SpaceControllerOptions) {
    this.#options = options;
  }

  /** `namespace/name`. */
  async reconcile(key: string): Promise<WorkResult | undefined> {
    const { targets, writer, references } = this.#options;
    const record = targets.space(key);
    if (record === undefined || record.deleted !== undefined) return undefined;
    const { clusterRef } = record;
    const cluster = clusterRef && targets.cluster(clusterRef.cluster);
    if (cluster === undefined) {
      const refusal = references.refusal(record);
      const desired = refusal === undefined ? spaceStatus(record, cluster) : refused(refusal);
      return void (await writer.writeStatus(record, desired));
    }
    const checked = await references.check(record, { cluster: cluster.uid }, wasUsed(record));
    const isRefused = 'problem' in checked;
    const desired = isRefused
      ? refused(checked.problem)
      : { ...spaceStatus(record, cluster), confirmed: checked.reference };
    const current = targets.space(key);
    if (current?.resourceVersion !== record.resourceVersion) return { requeueAfterMs: 0 };
    await writer.writeStatus(record, desired);
    return isRefused && checked.waitMs !== undefined ? { requeueAfterMs: checked.waitMs } : undefined;
  }
}

/** This release says so of a confirmed one only, an earlier one of each that it would let users into. */
const wasUsed = ({ conditions }: SpaceInstanceRecord): boolean =>
  findCondition(conditions, conditionTypes.ready)?.reason === reasons.clusterNotReady;

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
