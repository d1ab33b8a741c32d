import { finalizers } from '../../../api/names.ts';
import type { CredentialRecord } from '../../../credentials/record.ts';
import type { WorkResult } from '../../../kube/queue/workers.ts';
import type { VirtualClusterInstanceRecord } from '../../../platform/targets/target-record.ts';
import type { TargetStores } from '../../../platform/targets/target-stores.ts';
import type { CredentialStores } from '../../credentials/credential-stores.ts';
import { RecheckSchedule } from '../recheck-schedule.ts';
import type { TargetControllerOptions } from '../target-controller-options.ts';
import { TargetFinalizer } from '../target-finalizer.ts';
import { TargetReconciler } from '../target-reconciler.ts';
import { decideInstance } from './policy.ts';

export interface InstanceControllerOptions extends TargetControllerOptions<VirtualClusterInstanceRecord> {
  readonly targets: Pick<TargetStores, 'instance'>;
  readonly credentials: Pick<CredentialStores, 'kubeConfigsOf'>;
}

/** Makes virtual clusters usable, keeps them so, and cleans up behind deleted ones. */
export class InstanceController {
  readonly #reconciler: TargetReconciler<VirtualClusterInstanceRecord>;

  constructor(options: InstanceControllerOptions) {
    const { targets, credentials, connector, writer } = options;
    const finalizerName = finalizers.VirtualClusterInstance;
    this.#reconciler = new TargetReconciler({
      find: (key) => targets.instance(key),
      decide: decideInstance,
      finalizerName,
      writer,
      connector,
      finalizer: new TargetFinalizer({
        ...options,
        finalizer: finalizerName,
        isAwaited: ({ key, uid }) => credentials.kubeConfigsOf(key).some((each) => holdsAccess(each, uid)),
      }),
      times: new RecheckSchedule(options),
    });
  }

  /** `namespace/name`. */
  reconcile(key: string): Promise<WorkResult | undefined> {
    return this.#reconciler.reconcile(key);
  }
}

/** Kubeconfigs are withdrawn while the instance is going: afterwards nobody knows how to reach the virtual cluster. */
function holdsAccess({ status }: CredentialRecord, instance: string): boolean {
  const { credentialHash, boundSerials = [], instanceUID = instance } = status;
  return instanceUID === instance && (credentialHash !== undefined || boundSerials.length > 0);
}
