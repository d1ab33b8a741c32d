import { fieldManager } from '../../api/names.ts';
import type { Resource } from '../../api/resources.ts';
import type { MutationCache } from '../../kube/cache/mutation-cache.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Clock } from '../../kube/clock.ts';
import { type KubeObject, parseKey } from '../../kube/object.ts';
import type { ObjectEvents } from '../shared/events.ts';
import type { DesiredTargetStatus } from './desired-target-status.ts';
import { type AnyTargetRecord, targetStatusPatch } from './target-status-patch.ts';
import { targetTransitions } from './target-transitions.ts';

export interface TargetWriterOptions<R extends AnyTargetRecord> {
  /** Of the platform. */
  readonly client: Pick<KubeClient, 'mergePatch'>;
  readonly resource: Resource;
  readonly records: MutationCache<R>;
  /** What the answer to a write looks like as a record. */
  readonly project: (object: KubeObject) => R;
  readonly events: Pick<ObjectEvents, 'publish'>;
  readonly clock: Clock;
}

/**
 * Writes to objects that credentials point at. Each write names the UID and the resourceVersion that the decision was
 * made on, so a decision on an older or another object fails with a conflict instead of taking effect.
 */
export class TargetWriter<R extends AnyTargetRecord> {
  readonly #options: TargetWriterOptions<R>;

  constructor(options: TargetWriterOptions<R>) {
    this.#options = options;
  }

  addFinalizer(record: R, finalizer: string): Promise<R> {
    return this.#patch(record, { metadata: { finalizers: [...record.finalizers, finalizer] } });
  }

  async removeFinalizer(record: R, finalizer: string): Promise<void> {
    const finalizers = record.finalizers.filter((present) => present !== finalizer);
    await this.#patch(record, { metadata: { finalizers: finalizers.length === 0 ? null : finalizers } });
  }

  /** Writes what differs, and an event for a transition; nothing when nothing differs. */
  async writeStatus(record: R, desired: DesiredTargetStatus): Promise<R> {
    const { clock, events } = this.#options;
    const status = targetStatusPatch(record, desired, clock.now());
    if (status === undefined) return record;
    const written = await this.#patch(record, { status }, 'status');
    events.publish(record, targetTransitions(record, desired));
    return written;
  }

  async #patch(
    { key, uid, resourceVersion }: R,
    patch: { readonly metadata?: object; readonly status?: object },
    subresource?: 'status',
  ): Promise<R> {
    const { client, resource, records, project } = this.#options;
    const body = { ...patch, metadata: { ...patch.metadata, uid, resourceVersion } };
    const options = { fieldManager, ...(subresource === undefined ? {} : { subresource }) };
    const written = project(await client.mergePatch<KubeObject>(resource, parseKey(key), body, options));
    records.note(written);
    return written;
  }
}
