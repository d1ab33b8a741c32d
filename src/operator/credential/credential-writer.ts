import { fieldManager } from '../../api/names.ts';
import type { Reason } from '../../api/reasons.ts';
import type { Resource } from '../../api/resources.ts';
import { toCredentialRecord } from '../../credentials/project.ts';
import type { CredentialKind, CredentialRecord } from '../../credentials/record.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { Clock } from '../../kube/clock.ts';
import { isNotFound } from '../../kube/kube-error.ts';
import type { KubeObject } from '../../kube/object.ts';
import type { CredentialEvents } from './credential-events.ts';
import type { DesiredStatus } from './desired-status.ts';
import { statusPatch } from './status-patch.ts';
import { transitionEvents } from './transition-events.ts';
import type { WrittenRecords } from './written-records.ts';

export interface CredentialWriterOptions {
  readonly client: KubeClient;
  readonly resource: Resource;
  readonly records: WrittenRecords<CredentialRecord>;
  readonly events: CredentialEvents;
  readonly clock: Clock;
  /** Throws while nothing new may be confirmed. */
  readonly assertAdmission: () => void;
}

/**
 * Writes to credential objects. Each write names the UID and the resourceVersion that the decision was made on, so a
 * decision on an older or another object fails with a conflict instead of taking effect.
 */
export class CredentialWriter {
  readonly #options: CredentialWriterOptions;

  constructor(options: CredentialWriterOptions) {
    this.#options = options;
  }

  addFinalizer(record: CredentialRecord, finalizer: string): Promise<CredentialRecord> {
    return this.#patch(record, { metadata: { finalizers: [...record.finalizers, finalizer] } });
  }

  async removeFinalizer(record: CredentialRecord, finalizer: string): Promise<void> {
    const finalizers = record.finalizers.filter((present) => present !== finalizer);
    await this.#patch(record, { metadata: { finalizers: finalizers.length === 0 ? null : finalizers } });
  }

  patchSpec(record: CredentialRecord, spec: object): Promise<CredentialRecord> {
    return this.#patch(record, { spec });
  }

  /** Writes what differs, and an event for each transition; nothing when nothing differs. */
  async writeStatus(
    record: CredentialRecord,
    desired: DesiredStatus,
    successor?: Reason,
  ): Promise<CredentialRecord> {
    const status = statusPatch(record, desired, this.#options.clock.now());
    if (status === undefined) return record;
    if (confirmsMore(record, desired)) this.#options.assertAdmission();
    const written = await this.#patch(record, { status }, 'status');
    this.#options.events.record(record, transitionEvents(record, desired, successor));
    return written;
  }

  async delete({ name, namespace, uid, resourceVersion }: CredentialRecord): Promise<void> {
    const { client, resource } = this.#options;
    const key = namespace === undefined ? { name } : { name, namespace };
    await client
      .delete(resource, key, { preconditions: { uid, resourceVersion } })
      .catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
  }

  async #patch(
    record: CredentialRecord,
    patch: { readonly metadata?: object; readonly spec?: object; readonly status?: object },
    subresource?: 'status',
  ): Promise<CredentialRecord> {
    const { client, resource, records } = this.#options;
    const { name, namespace, uid, resourceVersion } = record;
    const object = await client.mergePatch<KubeObject>(
      resource,
      namespace === undefined ? { name } : { name, namespace },
      { ...patch, metadata: { ...patch.metadata, uid, resourceVersion } },
      { fieldManager, ...(subresource === undefined ? {} : { subresource }) },
    );
    const written = toCredentialRecord(object, resource.kind as CredentialKind);
    records.note(written);
    return written;
  }
}

/** Taking something back, or saying that it ended, never waits for the policies. */
function confirmsMore({ status }: CredentialRecord, { confirmation }: DesiredStatus): boolean {
  const { credentialHash, fingerprint } = confirmation;
  return (
    credentialHash !== undefined &&
    (credentialHash !== status.credentialHash || fingerprint !== status.fingerprint)
  );
}
