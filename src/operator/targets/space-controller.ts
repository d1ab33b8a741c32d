import { conditionTypes, findCondition, isReady } from '../../api/conditions.ts';
import { reasons } from '../../api/reasons.ts';
import type { WorkResult } from '../../kube/queue/workers.ts';
import type { ClusterRecord, SpaceInstanceRecord } from '../../platform/targets/target-record.ts';
import type { TargetReference } from '../../platform/targets/target-reference.ts';
import type { TargetStores } from '../../platform/targets/target-stores.ts';
import type { RecheckSchedule } from './recheck-schedule.ts';
import type { CheckedReference, ReferenceCheck } from './reference-check.ts';
import type { SpaceNamespace } from './space-namespace.ts';
import { connected, type DesiredTargetStatus, refused } from './target-status.ts';
import type { TargetWriter } from './target-writer.ts';

export interface SpaceControllerOptions {
  readonly targets: Pick<TargetStores, 'space' | 'cluster'>;
  readonly writer: TargetWriter<SpaceInstanceRecord>;
  readonly references: Pick<ReferenceCheck, 'check' | 'refusal'>;
  readonly namespaces: Pick<SpaceNamespace, 'problem'>;
  readonly schedule: RecheckSchedule;
}

/** Reports whether spaces can be used. Nothing is made for them, so they have no finalizer. */
export class SpaceController {
  readonly #options: SpaceControllerOptions;
  /** The UID last seen under each key. */
  readonly #seen = new Map<string, string>();

  constructor(options: SpaceControllerOptions) {
    this.#options = options;
  }

  /** `namespace/name`. */
  async reconcile(key: string): Promise<WorkResult | undefined> {
    const { targets, writer, references } = this.#options;
    const record = targets.space(key);
    this.#observe(key, record?.uid);
    if (record === undefined || record.deleted !== undefined) return undefined;
    const cluster = record.clusterRef && targets.cluster(record.clusterRef.cluster);
    if (cluster === undefined) {
      const refusal = references.refusal(record);
      const desired = refusal === undefined ? spaceStatus(record, cluster) : refused(refusal);
      return void (await writer.writeStatus(record, desired));
    }
    const checked = await references.check(record, { cluster: cluster.uid }, wasUsed(record));
    const { desired, next } =
      'problem' in checked ? waiting(checked) : await this.#look(record, cluster, checked.reference);
    const current = targets.space(key);
    if (current?.resourceVersion !== record.resourceVersion) return { requeueAfterMs: 0 };
    await writer.writeStatus(record, desired);
    return next;
  }

  /** Whether its cluster can be used, and holds its namespace. */
  async #look(
    record: SpaceInstanceRecord,
    cluster: ClusterRecord,
    confirmed: TargetReference,
  ): Promise<Outcome> {
    const { namespaces, schedule } = this.#options;
    const status = spaceStatus(record, cluster);
    const namespace = confirmed.clusterRef?.namespace ?? record.clusterRef?.namespace;
    // The Cluster brings it here again.
    if (status.phase !== 'Ready' || namespace === undefined) return { desired: { ...status, confirmed } };
    const problem = await namespaces.problem(cluster, namespace);
    return problem === undefined
      ? { desired: { ...status, confirmed }, next: schedule.afterSuccess(record.uid) }
      : { desired: { ...refused(problem), confirmed }, next: schedule.afterFailure(record.uid) };
  }

  #observe(key: string, uid: string | undefined): void {
    const before = this.#seen.get(key);
    if (before === uid) return;
    if (before !== undefined) this.#options.schedule.forget(before);
    if (uid === undefined) this.#seen.delete(key);
    else this.#seen.set(key, uid);
  }
}

interface Outcome {
  readonly desired: DesiredTargetStatus;
  readonly next?: WorkResult | undefined;
}

const waiting = ({ problem, waitMs }: Extract<CheckedReference, { readonly problem: unknown }>): Outcome => ({
  desired: refused(problem),
  ...(waitMs === undefined ? {} : { next: { requeueAfterMs: waitMs } }),
});

/** This release says so of a confirmed one only, an earlier one of each that it would let users into. */
const wasUsed = ({ conditions }: SpaceInstanceRecord): boolean =>
  findCondition(conditions, conditionTypes.ready)?.reason === reasons.clusterNotReady;

/** A space is as ready as the Cluster that it is in, once its namespace is there. */
export function spaceStatus(
  { clusterRef }: SpaceInstanceRecord,
  cluster: ClusterRecord | undefined,
): DesiredTargetStatus {
  if (clusterRef === undefined) return refused(nowhere, true);
  if (cluster === undefined) return refused(notFound(clusterRef.cluster));
  return isUsable(cluster) ? connected(ready) : refused(notReady(clusterRef.cluster));
}

const isUsable = (cluster: ClusterRecord): boolean => cluster.deleted === undefined && isReady(cluster);

const ready = 'The cluster of this space can be used, and holds its namespace.';

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
