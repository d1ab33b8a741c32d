import { fieldManager } from '../../api/names.ts';
import type { Resource } from '../../api/resources.ts';
import type { MutationCache } from '../../kube/cache/mutation-cache.ts';
import type { StoredRecord } from '../../kube/cache/store.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { type KubeObject, parseKey } from '../../kube/object.ts';
import type { EventSubject, TransitionEvent } from './events.ts';

/** A record as far as writes need it. */
export interface WritableRecord extends StoredRecord, EventSubject {
  readonly finalizers: readonly string[];
}

export interface ObjectWriterOptions<R extends WritableRecord> {
  /** Of the platform. */
  readonly client: Pick<KubeClient, 'mergePatch'>;
  readonly resource: Resource;
  readonly records: MutationCache<R>;
  /** The answer to a write as a record. */
  readonly toRecord: (object: KubeObject) => R;
  readonly events: { publish(record: R, events: readonly TransitionEvent[]): void };
  /** Told the same, with the record as the write left it. */
  readonly onTransition?: ((written: R, events: readonly TransitionEvent[]) => void) | undefined;
}

/** The part that one write may change: status alone, or anything else. */
export interface Patch {
  readonly metadata?: object;
  readonly spec?: object;
  readonly status?: object;
}

/**
 * Writes to objects of one kind. Each write names the UID and the resourceVersion that the decision was made on, so a
 * decision on an older or another object fails with a conflict instead of taking effect.
 */
export class ObjectWriter<R extends WritableRecord> {
  readonly #options: ObjectWriterOptions<R>;

  constructor(options: ObjectWriterOptions<R>) {
    this.#options = options;
  }

  addFinalizer(record: R, finalizer: string): Promise<R> {
    return this.write(record, { metadata: { finalizers: [...record.finalizers, finalizer] } });
  }

  /** Of an object that is being deleted: with its last finalizer it is gone, and must not be let go again until the watch tells. */
  async removeFinalizer(record: R, finalizer: string): Promise<void> {
    const finalizers = record.finalizers.filter((present) => present !== finalizer);
    await this.write(record, { metadata: { finalizers: finalizers.length === 0 ? null : finalizers } });
    if (finalizers.length === 0) this.#options.records.putTombstone(record);
  }

  /** Writes the fields of `status` that differ, and an event for each transition; nothing when nothing differs. */
  protected async writeChanges(
    record: R,
    status: object | undefined,
    transitions: () => readonly TransitionEvent[],
  ): Promise<R> {
    if (status === undefined) return record;
    const written = await this.write(record, { status });
    const events = transitions();
    this.#options.events.publish(record, events);
    this.#options.onTransition?.(written, events);
    return written;
  }

  /** A merge patch. */
  protected async write({ key, uid, resourceVersion }: R, patch: Patch): Promise<R> {
    const { client, resource, records, toRecord } = this.#options;
    const body = { ...patch, metadata: { ...patch.metadata, uid, resourceVersion } };
    const options = { fieldManager, ...(patch.status && { subresource: 'status' as const }) };
    const written = toRecord(await client.mergePatch<KubeObject>(resource, parseKey(key), body, options));
    records.put(written, resourceVersion);
    return written;
  }
}
