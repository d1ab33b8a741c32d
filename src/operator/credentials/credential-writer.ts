import { fieldManager } from '../../api/names.ts';
import type { Reason } from '../../api/reasons.ts';
import type { Resource } from '../../api/resources.ts';
import { toCredentialRecord } from '../../credentials/credential-record.ts';
import type { CredentialKind, CredentialRecord } from '../../credentials/record.ts';
import type { MutationCache } from '../../kube/cache/mutation-cache.ts';
import type { KubeClient, ObjectKey } from '../../kube/client/client.ts';
import type { Clock } from '../../kube/clock.ts';
import { ignoreNotFound, KubeError } from '../../kube/kube-error.ts';
import type { KubeObject } from '../../kube/object.ts';
import type { ObjectEvents } from '../shared/events.ts';
import { admissionWait, type DesiredStatus } from './desired-status.ts';
import { statusPatch } from './status-patch.ts';
import { transitionEvents } from './transition-events.ts';

export interface CredentialWriterOptions {
  readonly client: KubeClient;
  readonly resource: Resource;
  readonly records: MutationCache<CredentialRecord>;
  readonly events: ObjectEvents;
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
  /** UIDs of objects with a write that may or may not have taken effect. */
  readonly #uncertainWrites = new Set<string>();

  constructor(options: CredentialWriterOptions) {
    this.#options = options;
  }

  /**
   * The record to decide on: read again when the last write to it went unanswered. Deciding on the old one would make
   * a second credential beside the one that may have been confirmed. Undefined when the object is gone.
   */
  async refreshIfUncertain(record: CredentialRecord): Promise<CredentialRecord | undefined> {
    if (!this.#uncertainWrites.has(record.uid)) return record;
    const { client, resource, records } = this.#options;
    const object = await client.get(resource, placeOf(record)).catch(ignoreNotFound);
    this.#uncertainWrites.delete(record.uid);
    if (object === undefined) return undefined;
    const fresh = toCredentialRecord(object, record.kind);
    records.put(fresh);
    return fresh;
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

  /** Names the certificates that may be bound in a virtual cluster, before any is. Conditions stay: nothing has come of it yet. */
  nameSerials(record: CredentialRecord, boundSerials: readonly number[]): Promise<CredentialRecord> {
    return this.#patch(record, { status: { boundSerials } }, 'status');
  }

  /** Writes what differs, and an event for each transition; nothing when nothing differs. */
  async writeStatus(
    record: CredentialRecord,
    desired: DesiredStatus,
    successor?: Reason,
  ): Promise<CredentialRecord> {
    const status = statusPatch(record, desired, this.#options.clock.now());
    if (status === undefined) return record;
    if (confirmsMore(record, desired)) await this.assertAdmitted(record);
    const written = await this.#patch(record, { status }, 'status');
    this.#options.events.publish(record, transitionEvents(record, desired, successor));
    return written;
  }

  /**
   * Throws `ERR_ADMISSION_MISSING` while nothing new may be confirmed. The status of what waits for it says so first, once;
   * there is no event for each object, because all of them wait for the same.
   */
  async assertAdmitted(record: CredentialRecord): Promise<void> {
    const { assertAdmission, clock } = this.#options;
    try {
      assertAdmission();
    } catch (error) {
      const now = clock.now();
      const desired = admissionWait(record, now);
      const status = desired && statusPatch(record, desired, now);
      if (status !== undefined) await this.#patch(record, { status }, 'status');
      throw error;
    }
  }

  async delete(record: CredentialRecord): Promise<void> {
    const { client, resource } = this.#options;
    const { uid, resourceVersion } = record;
    const preconditions = { uid, resourceVersion };
    await client.delete(resource, placeOf(record), { preconditions }).catch(ignoreNotFound);
  }

  async #patch(
    record: CredentialRecord,
    patch: { readonly metadata?: object; readonly spec?: object; readonly status?: object },
    subresource?: 'status',
  ): Promise<CredentialRecord> {
    const { client, resource, records } = this.#options;
    const { uid, resourceVersion } = record;
    const body = { ...patch, metadata: { ...patch.metadata, uid, resourceVersion } };
    const options = { fieldManager, ...(subresource === undefined ? {} : { subresource }) };
    const object = await client
      .mergePatch<KubeObject>(resource, placeOf(record), body, options)
      .catch((error: unknown) => {
        if (isUnanswered(error)) this.#uncertainWrites.add(uid);
        throw error;
      });
    const written = toCredentialRecord(object, resource.kind as CredentialKind);
    records.put(written);
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

const placeOf = ({ name, namespace }: CredentialRecord): ObjectKey =>
  namespace === undefined ? { name } : { name, namespace };

/** Anything but a refusal leaves it open whether the write took effect; etcd answers late with a 500. */
const isUnanswered = (error: unknown): boolean =>
  error instanceof KubeError && (error.code !== 'ERR_KUBE_STATUS' || error.status >= 500);
