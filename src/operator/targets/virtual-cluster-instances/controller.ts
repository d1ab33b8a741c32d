import { finalizers } from '../../../api/names.ts';
import type { WorkResult } from '../../../kube/queue/workers.ts';
import type { VirtualClusterInstanceRecord } from '../../../platform/targets/target-record.ts';
import type { TargetStores } from '../../../platform/targets/target-stores.ts';
import { RecheckSchedule } from '../recheck-schedule.ts';
import type { TargetControllerOptions } from '../target-controller-options.ts';
import { TargetFinalizer } from '../target-finalizer.ts';
import { TargetReconciler } from '../target-reconciler.ts';
import { decideInstance } from './policy.ts';

export interface InstanceControllerOptions extends TargetControllerOptions<VirtualClusterInstanceRecord> {
  readonly targets: Pick<TargetStores, 'instance'>;
  /** Whether certificates in it still have to be revoked: once the object is gone, no one knows how to reach it. */
  readonly isAwaited: (record: VirtualClusterInstanceRecord) => boolean;
}

/** Makes virtual clusters usable, keeps them so, and cleans up behind deleted ones. */
export class InstanceController {
  readonly #reconciler: TargetReconciler<VirtualClusterInstanceRecord>;

  constructor(options: InstanceControllerOptions) {
    const { targets, connector, writer } = options;
    const finalizerName = finalizers.VirtualClusterInstance;
    this.#reconciler = new TargetReconciler({
      find: (key) => targets.instance(key),
      decide: decideInstance,
      finalizerName,
      writer,
      connector,
      finalizer: new TargetFinalizer({ ...options, finalizer: finalizerName }),
      times: new RecheckSchedule(options),
    });
  }

  /** `namespace/name`. */
  reconcile(key: string): Promise<WorkResult | undefined> {
    return this.#reconciler.reconcile(key);
  }
}
