import { finalizers } from '../../../api/names.ts';
import type { WorkResult } from '../../../kube/queue/workers.ts';
import type { ClusterRecord } from '../../../platform/targets/target-record.ts';
import type { TargetStores } from '../../../platform/targets/target-stores.ts';
import { RecheckSchedule } from '../recheck-schedule.ts';
import type { TargetControllerOptions } from '../target-controller-options.ts';
import { TargetFinalizer } from '../target-finalizer.ts';
import { TargetReconciler } from '../target-reconciler.ts';
import { decideCluster } from './policy.ts';

export interface ClusterControllerOptions extends TargetControllerOptions<ClusterRecord> {
  readonly targets: Pick<TargetStores, 'cluster'>;
}

/** Makes connected clusters usable, keeps them so, and cleans up behind deleted ones. */
export class ClusterController {
  readonly #reconciler: TargetReconciler<ClusterRecord>;

  constructor(options: ClusterControllerOptions) {
    const { targets, connector, writer } = options;
    this.#reconciler = new TargetReconciler({
      find: (name) => targets.cluster(name),
      decide: decideCluster,
      finalizerName: finalizers.Cluster,
      writer,
      connector,
      finalizer: new TargetFinalizer({ ...options, finalizer: finalizers.Cluster, isAwaited: () => false }),
      times: new RecheckSchedule(options),
    });
  }

  reconcile(name: string): Promise<WorkResult | undefined> {
    return this.#reconciler.reconcile(name);
  }
}
