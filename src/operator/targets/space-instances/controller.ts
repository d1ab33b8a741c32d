import type { SpaceInstanceRecord } from '../../../platform/targets/target-record.ts';
import type { TargetStores } from '../../../platform/targets/target-stores.ts';
import type { TargetWriter } from '../target-writer.ts';
import { spaceStatus } from './policy.ts';

export interface SpaceControllerOptions {
  readonly targets: Pick<TargetStores, 'space' | 'cluster'>;
  readonly writer: TargetWriter<SpaceInstanceRecord>;
}

/** Says of spaces whether they can be used. Nothing is made for them, so they have no finalizer. */
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
