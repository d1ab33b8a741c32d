import { finalizers } from '../../../api/names.ts';
import type { WorkResult } from '../../../kube/workers.ts';
import type { ClusterRecord } from '../../../platform/targets/target-record.ts';
import { LookTimes } from '../../target/look-times.ts';
import type { TargetConnector } from '../../target/target-connector.ts';
import type { TargetEvents } from '../../target/target-events.ts';
import { TargetFinalizer } from '../../target/target-finalizer.ts';
import { TargetReconciler } from '../../target/target-reconciler.ts';
import type { TargetStores } from '../../target/target-stores.ts';
import type { TargetWriter } from '../../target/target-writer.ts';
import { decideCluster } from './policy.ts';

export interface ClusterControllerOptions {
  readonly targets: Pick<TargetStores, 'cluster'>;
  readonly writer: TargetWriter<ClusterRecord>;
  readonly connector: TargetConnector;
  readonly events: TargetEvents;
  /** Hears of each finalizer that was released with something left behind. */
  readonly onReleased: () => void;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** How often each cluster is looked at, milliseconds. */
  readonly recheckMs: number;
  /** How long a deleted cluster may wait for its clean-up, milliseconds. */
  readonly limitMs: number;
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
      times: new LookTimes(options),
    });
  }

  reconcile(name: string): Promise<WorkResult | undefined> {
    return this.#reconciler.reconcile(name);
  }
}
