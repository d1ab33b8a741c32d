import { finalizers } from '../../../api/names.ts';
import { reasons } from '../../../api/reasons.ts';
import type { CredentialRecord } from '../../../credentials/record.ts';
import type { WorkResult } from '../../../kube/queue/workers.ts';
import type { TargetClients } from '../../../platform/targets/target-clients.ts';
import type { TargetProblem } from '../../../platform/targets/target-problem.ts';
import type { VirtualClusterInstanceRecord } from '../../../platform/targets/target-record.ts';
import type { TargetStores } from '../../../platform/targets/target-stores.ts';
import type { CertificateRevoker } from '../../certificates/certificate-revoker.ts';
import type { RevocationRecords } from '../../certificates/revocation-records.ts';
import { caFingerprint } from '../../certificates/revocation-records.ts';
import { finalizerReleased, type ObjectEvents } from '../../shared/events.ts';
import { type CredentialStores, instanceKeyOf } from '../credential-stores.ts';
import type { CredentialWriter } from '../credential-writer.ts';
import { deletingStatus } from '../desired-status.ts';
import { leftBehind } from '../finalizer.ts';
import type { SecretWriter } from '../secret-writer.ts';
import { sourceOf } from './certificate-kubeconfig.ts';

export interface KubeConfigFinalizerOptions {
  readonly stores: CredentialStores;
  readonly targets: Pick<TargetStores, 'instance'>;
  readonly clients: Pick<TargetClients, 'known'>;
  readonly revoker: Pick<CertificateRevoker, 'tryRevoke'>;
  readonly revocations: Pick<RevocationRecords, 'remove'>;
  readonly writer: Pick<CredentialWriter, 'writeStatus' | 'removeFinalizer'>;
  readonly secrets: Pick<SecretWriter, 'deleteAll'>;
  readonly events: Pick<ObjectEvents, 'publish'>;
  /** Called for each release with something left behind. */
  readonly onReleased: () => void;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** How long the object may wait for its clean-up, milliseconds. */
  readonly limitMs: number;
}

/** How often a finalization that waits is checked when no event comes. */
const recheckMs = 1_000;
const maxReleased = 1_000;
const finalizer = finalizers.VirtualClusterInstanceKubeConfig;

/**
 * Cleans up after a deleted kubeconfig, here and in its virtual cluster, then lets the object go. What is left inside
 * when it goes is on record since before it existed, and revoked from that record.
 */
export class KubeConfigFinalizer {
  readonly #options: KubeConfigFinalizerOptions;
  /** A deletion that came while no operator was there is not at its limit at once. */
  readonly #since: number;
  /** UIDs of objects that were let go and may still be in the store. */
  readonly #released = new Set<string>();

  constructor(options: KubeConfigFinalizerOptions) {
    this.#options = options;
    this.#since = options.now();
  }

  async finalize(record: CredentialRecord): Promise<WorkResult | undefined> {
    const { stores, targets, now, limitMs } = this.#options;
    if (!record.finalizers.includes(finalizer) || this.#released.has(record.uid)) return undefined;
    if (record.finalizers.length > 1 && record.status.credentialHash !== undefined)
      return this.#strip(record);
    const instance = targets.instance(instanceKeyOf(record));
    const deadline = Math.max(record.deleted ?? now(), this.#since) + limitMs;
    await this.#deleteSecrets(record, now() >= deadline);
    // By the end of it the watch has told that the Secrets are gone.
    const problem = await this.#revoke(record, instance);
    const release = releaseOf({
      secrets: stores.secrets.byIndex('owner', record.uid).length,
      ...(problem === undefined ? {} : { problem }),
      instance: instance === undefined ? 'gone' : instance.deleted === undefined ? 'present' : 'going',
      now: now(),
      deadline,
    });
    if (release === undefined) return { requeueAfterMs: recheckMs };
    if (problem === undefined) await this.#forget(record, instance);
    return this.#release(record, release);
  }

  /** Everything, also what was revoked before: someone may have bound a dead certificate again for its holder. */
  async #revoke(
    record: CredentialRecord,
    instance: VirtualClusterInstanceRecord | undefined,
  ): Promise<TargetProblem | undefined> {
    const { serial, boundSerials = [] } = record.status;
    const isCertificate = record.kubeConfig?.clientCert === true;
    if (!isCertificate || (serial === 0 && boundSerials.length === 0)) return undefined;
    if (instance === undefined) return boundSerials.length === 0 ? undefined : unknownTarget;
    const serials = [...new Set([...boundSerials, serial])].filter((bound) => bound > 0);
    const request = { uid: record.uid, serials, live: [] };
    const problem = await this.#options.revoker.tryRevoke(sourceOf(instance), request);
    // Nothing is known to be bound; that one more search was not possible holds nothing up.
    return boundSerials.length === 0 ? undefined : problem;
  }

  /** The last try, at the limit, must not stand in the way of the release. */
  async #deleteSecrets({ uid }: CredentialRecord, last: boolean): Promise<void> {
    const { stores, secrets } = this.#options;
    try {
      await secrets.deleteAll(stores.secrets.byIndex('owner', uid));
    } catch (error) {
      if (!last) throw error;
    }
  }

  /** What was issued in another virtual cluster stays on record. */
  async #forget(
    { uid }: CredentialRecord,
    instance: VirtualClusterInstanceRecord | undefined,
  ): Promise<void> {
    const { clients, revocations } = this.#options;
    const known = instance && clients.known(instance.uid);
    if (known !== undefined) await revocations.remove({ ownerUID: uid, caFingerprint: caFingerprint(known) });
  }

  async #strip(record: CredentialRecord): Promise<WorkResult> {
    await this.#options.writer.writeStatus(record, deletingStatus(record));
    return { requeueAfterMs: 0 };
  }

  #addReleased(uid: string): void {
    this.#released.add(uid);
    for (const oldest of this.#released) {
      if (this.#released.size <= maxReleased) break;
      this.#released.delete(oldest);
    }
  }

  async #release(record: CredentialRecord, release: 'done' | 'left'): Promise<undefined> {
    const { writer, events, onReleased } = this.#options;
    await writer.removeFinalizer(record, finalizer);
    this.#addReleased(record.uid);
    if (release === 'done') return;
    events.publish(record, [finalizerReleased(leftBehind)]);
    onReleased();
  }
}

const unknownTarget: TargetProblem = {
  reason: reasons.instanceGone,
  message: 'The VirtualClusterInstance is gone, and with it the way to its virtual cluster.',
};

export interface KubeConfigFinalization {
  /** Secrets that were made for the kubeconfig and still exist. */
  readonly secrets: number;
  /** What stands in the way of the clean-up inside; absent: it is done, or there was nothing to do. */
  readonly problem?: TargetProblem;
  /** Whether the instance is there to stay. */
  readonly instance: 'present' | 'going' | 'gone';
  /** Epoch milliseconds. */
  readonly now: number;
  readonly deadline: number;
}

/**
 * Whether the finalizer of a deleted kubeconfig may go: `done` with nothing left, `left` with something. Where the
 * virtual cluster is going away, or no one can say any more how to reach it, waiting would only hold up its namespace.
 */
export function releaseOf(input: KubeConfigFinalization): 'done' | 'left' | undefined {
  const { secrets, problem, instance, now, deadline } = input;
  if (secrets === 0 && problem === undefined) return 'done';
  if (now >= deadline) return 'left';
  const isHopeless =
    problem !== undefined && (instance !== 'present' || problem.reason === reasons.kubeConfigNotFound);
  return isHopeless && secrets === 0 ? 'left' : undefined;
}
