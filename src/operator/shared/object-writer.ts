import { fieldManager } from '../../api/names.ts';
import type { Resource } from '../../api/resources.ts';
import type { MutationCache } from '../../kube/cache/mutation-cache.ts';
import type { StoredRecord } from '../../kube/cache/store.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { type KubeObject, parseKey } from '../../kube/object.ts';

/** A record as far as writes need it. */
export interface WritableRecord extends StoredRecord {
  readonly finalizers: readonly string[];
}

export interface ObjectWriterOptions<R extends WritableRecord> {
  /** Of the platform. */
  readonly client: Pick<KubeClient, 'mergePatch'>;
  readonly resource: Resource;
  readonly records: MutationCache<R>;
  /** The answer to a write as a record. */
  readonly project: (object: KubeObject) => R;
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
    return this.patch(record, { metadata: { finalizers: [...record.finalizers, finalizer] } });
  }

  async removeFinalizer(record: R, finalizer: string): Promise<void> {
    const finalizers = record.finalizers.filter((present) => present !== finalizer);
    await this.patch(record, { metadata: { finalizers: finalizers.length === 0 ? null : finalizers } });
  }

  /** A merge patch of everything but the status. */
  patch(record: R, patch: { readonly metadata?: object; readonly spec?: object }): Promise<R> {
    return this.#write(record, patch, {});
  }

  /** A merge patch of the status. */
  patchStatus(record: R, status: object): Promise<R> {
    return this.#write(record, { status }, { subresource: 'status' });
  }

  async #write(
    { key, uid, resourceVersion }: R,
    patch: { readonly metadata?: object; readonly spec?: object; readonly status?: object },
    target: { readonly subresource?: 'status' },
  ): Promise<R> {
    const { client, resource, records, project } = this.#options;
    const body = { ...patch, metadata: { ...patch.metadata, uid, resourceVersion } };
    const options = { fieldManager, ...target };
    const written = project(await client.mergePatch<KubeObject>(resource, parseKey(key), body, options));
    records.put(written);
    return written;
  }
}
