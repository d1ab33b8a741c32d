import type { Reason } from '../../api/reasons.ts';
import type { CredentialRecord, NamespacePin } from '../../credentials/record.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import type { Clock } from '../../kube/clock.ts';
import { ignoreNotFound, isConflict, KubeError } from '../../kube/kube-error.ts';
import { type KubeObject, parseKey } from '../../kube/object.ts';
import type { CredentialAudit } from '../audit/credential-audit.ts';
import { ObjectWriter, type ObjectWriterOptions, type Patch } from '../shared/object-writer.ts';
import { admissionWait, type DesiredStatus } from './desired-status.ts';
import { statusPatch } from './status-patch.ts';
import { transitionEvents } from './transition-events.ts';

export interface CredentialWriterOptions extends ObjectWriterOptions<CredentialRecord> {
  readonly client: Pick<KubeClient, 'get' | 'mergePatch' | 'delete'>;
  readonly clock: Clock;
  /** Throws while nothing new may be confirmed. */
  readonly assertAdmission: () => void;
  readonly audit?: Pick<CredentialAudit, 'assertOpen'> | undefined;
}

/** Writes to credential objects. What confirms more waits for the policies; after no answer or a conflict the object is read again. */
export class CredentialWriter extends ObjectWriter<CredentialRecord> {
  readonly #options: CredentialWriterOptions;
  /** UIDs of objects with a write that may have taken effect without an answer, or that met a later version. */
  readonly #uncertainWrites = new Set<string>();

  constructor(options: CredentialWriterOptions) {
    super(options);
    this.#options = options;
  }

  /**
   * The record to decide on: read again when the last write to it went unanswered, or met a version that the watch has not brought.
   * Deciding on the old one would make a second credential beside the one that may have been confirmed. Undefined when the object is gone.
   */
  async refreshIfUncertain(record: CredentialRecord): Promise<CredentialRecord | undefined> {
    if (!this.#uncertainWrites.has(record.uid)) return record;
    const { client, resource, records, toRecord } = this.#options;
    const object = await client.get<KubeObject>(resource, parseKey(record.key)).catch(ignoreNotFound);
    this.#uncertainWrites.delete(record.uid);
    if (object === undefined) return undefined;
    const fresh = toRecord(object);
    records.put(fresh);
    return fresh;
  }

  patchSpec(record: CredentialRecord, spec: object): Promise<CredentialRecord> {
    return this.write(record, { spec });
  }

  /** Names the certificates that may be bound in a virtual cluster, before any is. Conditions stay: nothing has come of it yet. */
  nameSerials(record: CredentialRecord, boundSerials: readonly number[]): Promise<CredentialRecord> {
    return this.write(record, { status: { boundSerials } });
  }

  /** A write of its own, so that a refusal, a question without an answer or a policy that is missing loses none. */
  writePins(record: CredentialRecord, allowedNamespaces: readonly NamespacePin[]): Promise<CredentialRecord> {
    return this.write(record, { status: { allowedNamespaces } });
  }

  /** Writes what differs, and an event for each transition; nothing when nothing differs. */
  async writeStatus(
    record: CredentialRecord,
    desired: DesiredStatus,
    successor?: Reason,
  ): Promise<CredentialRecord> {
    const status = statusPatch(record, desired, this.#options.clock.now());
    if (confirmsMore(record, desired)) {
      await this.assertAdmitted(record);
      this.#options.audit?.assertOpen();
    }
    return this.writeChanges(record, status, () => transitionEvents(record, desired, successor));
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
      await this.writeChanges(record, status, () => []);
      throw error;
    }
  }

  async delete({ key, uid, resourceVersion }: CredentialRecord): Promise<void> {
    const { client, resource } = this.#options;
    const preconditions = { uid, resourceVersion };
    await client.delete(resource, parseKey(key), { preconditions }).catch(ignoreNotFound);
  }

  protected override async write(record: CredentialRecord, patch: Patch): Promise<CredentialRecord> {
    try {
      return await super.write(record, patch);
    } catch (error) {
      if (isUnanswered(error) || isConflict(error)) this.#uncertainWrites.add(record.uid);
      throw error;
    }
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

/** Anything but a refusal leaves it open whether the write took effect; etcd answers late with a 500. */
const isUnanswered = (error: unknown): boolean =>
  error instanceof KubeError && (error.code !== 'ERR_KUBE_STATUS' || error.status >= 500);
