import { conditionTypes, findCondition } from '../../../src/api/conditions.ts';
import { apiVersion, finalizers } from '../../../src/api/names.ts';
import type { KubeObject } from '../../../src/kube/object.ts';
import { createTargetControllers } from '../../../src/operator/assembly/create-target-controllers.ts';
import type { OperatorContext } from '../../../src/operator/assembly/operator-context.ts';
import { CredentialStores } from '../../../src/operator/credentials/credential-stores.ts';
import type { Controller } from '../../../src/operator/shared/controller.ts';
import type { TransitionEvent } from '../../../src/operator/shared/events.ts';
import {
  toInstanceRecord,
  type VirtualClusterInstanceRecord,
} from '../../../src/platform/targets/target-record.ts';
import { TargetStores } from '../../../src/platform/targets/target-stores.ts';
import type { FakeClock } from '../../fakes/fake-clock.ts';
import { connection, owner, type TargetStage } from './target-stage.ts';

const { namespace } = connection.kubeConfig;
const name = 'shop';
const key = `${namespace}/${name}`;
export const finalizerLimitMs = 60_000;

/** The instance whose target a stage plays, as the platform stores it. */
export class StagedInstance {
  readonly stage: TargetStage;
  readonly clock: FakeClock;

  constructor(stage: TargetStage, clock: FakeClock) {
    this.stage = stage;
    this.clock = clock;
    const held = [finalizers.VirtualClusterInstance];
    const metadata = { namespace, name, uid: owner.uid, generation: 1, finalizers: held };
    const status = { confirmed: { secretRef: connection.kubeConfig } };
    this.#storage.put({ apiVersion, kind: owner.kind, metadata, status } as never);
  }

  get stored(): KubeObject {
    return this.#storage.get(key) as KubeObject;
  }

  /** Of its condition. */
  get reason(): string | undefined {
    return findCondition(toInstanceRecord(this.stored).conditions, conditionTypes.ready)?.reason;
  }

  get isReleased(): boolean {
    return toInstanceRecord(this.stored).finalizers.length === 0;
  }

  /** As the API server does it to an object that has a finalizer. */
  delete(): void {
    const { stored } = this;
    const deletionTimestamp = new Date(this.clock.now()).toISOString();
    this.#storage.put({ ...stored, metadata: { ...stored.metadata, deletionTimestamp } });
  }

  get #storage() {
    return this.stage.platform.storage('virtualclusterinstances');
  }
}

/** The present operator of a stage, for one instance. All that it knows comes from the platform. */
export class InstanceOperator {
  readonly events: string[] = [];
  /** Releases that may have left something behind, as the metric counts them. */
  released = 0;
  /** Keys of instances that were to be checked soon. */
  readonly enqueued: string[] = [];
  readonly #instance: StagedInstance;
  readonly #targets: TargetStores;
  readonly #controller: Controller;

  constructor(instance: StagedInstance) {
    const { clock, stage } = instance;
    const { client, clients } = stage;
    this.#instance = instance;
    this.#targets = new TargetStores(clock);
    const start = clock.now();
    const [controller] = createTargetControllers({
      ...{ client, clock, random: () => 0.5, targets: this.#targets, stores: new CredentialStores(clock) },
      ...{ assertAdmission: () => undefined, trustedSince: () => 0 },
      unguardedTargets: { has: () => false, judged: async () => undefined },
      workingSince: () => start,
      targetClients: clients,
      queues: { virtualclusterinstances: { add: (other: string) => this.enqueued.push(other) } },
      settings: { finalizerLimitMs, targetRecheckMs: 60_000 },
      metrics: { finalizersReleased: { inc: () => this.released++ } },
      events: {
        publish: (_: unknown, events: readonly TransitionEvent[]) =>
          this.events.push(...events.map(({ reason }) => reason)),
      },
    } as unknown as OperatorContext);
    this.#controller = controller as Controller;
  }

  /** Learns how the instance is now. */
  observe(): void {
    this.#targets.instances.upsert(toInstanceRecord(this.#instance.stored));
  }

  /** Learns of another instance. */
  observeOther(record: VirtualClusterInstanceRecord): void {
    this.#targets.instances.upsert(record);
  }

  async reconcile() {
    this.observe();
    return await this.#controller.reconcile(key);
  }

  /** Works until the deleted instance is let go. Resolves with how long that took, milliseconds. */
  async finish(): Promise<number> {
    const { clock } = this.#instance;
    const start = clock.now();
    for (;;) {
      const result = await this.reconcile();
      if (this.#instance.isReleased) return clock.now() - start;
      clock.advance((result as { requeueAfterMs: number }).requeueAfterMs);
    }
  }
}
