import type { CredentialRecord } from '../../../credentials/record.ts';
import type { Clock } from '../../../kube/clock.ts';
import type { TargetStores } from '../../../platform/targets/target-stores.ts';
import type { CertificateRevoker } from '../../certificates/certificate-revoker.ts';
import { deadSerials, liveSerials, withoutDead } from '../../certificates/serials.ts';
import { RetrySchedule } from '../../shared/retry-schedule.ts';
import { instanceKeyOf } from '../credential-stores.ts';
import type { DesiredStatus } from '../desired-status.ts';
import { sourceOf } from './certificate-kubeconfig.ts';

export interface RevokeBeforeCommitOptions {
  readonly targets: Pick<TargetStores, 'instance'>;
  readonly revoker: Pick<CertificateRevoker, 'tryRevoke'>;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

interface Revoked {
  readonly desired: DesiredStatus;
  /** When to try again; infinite: nothing is left to do. */
  readonly retryMs: number;
}

/** Brings the virtual cluster in line with a status before that is written: what narrows comes first. */
export class RevokeBeforeCommit {
  readonly #options: RevokeBeforeCommitOptions;
  readonly #retries: RetrySchedule;

  constructor(options: RevokeBeforeCommitOptions) {
    this.#options = options;
    const { clock, random } = options;
    this.#retries = new RetrySchedule(clock, { initialMs: 1_000, maxMs: 60_000, random });
  }

  /**
   * The status that is true once the certificates to which it gives no life are revoked, or could not be. An instance
   * that is going is not held up: what status does not name any more is revoked by the record of it.
   */
  async revoke(record: CredentialRecord, wanted: DesiredStatus): Promise<Revoked> {
    const { targets, revoker, clock } = this.#options;
    const auth = record.kubeConfig?.clientCert === true ? 'ClientCertificate' : 'Token';
    const confirmation = { ...wanted.confirmation, auth } as const;
    const desired = { ...wanted, confirmation };
    const live = liveSerials(confirmation, clock.now());
    const serials = auth === 'Token' ? [] : deadSerials(record.status, live);
    const instance = targets.instance(instanceKeyOf(record));
    if (serials.length === 0) return { desired, retryMs: Number.POSITIVE_INFINITY };
    const revoked = { ...desired, confirmation: withoutDead(confirmation, live) };
    // The revocation record says where its virtual cluster was. It is acted on once status names no serial.
    const { instanceUID = instance?.uid } = record.status;
    if (instance === undefined || instance.uid !== instanceUID)
      return { desired: live.length === 0 ? revoked : desired, retryMs: Number.POSITIVE_INFINITY };
    const outcome = await revoker.tryRevoke(sourceOf(instance), { uid: record.uid, serials, live });
    const isLast = live.length === 0 && instance.deleted !== undefined;
    if ('problem' in outcome && !isLast) {
      const { waitMs } = this.#retries.failed(record.uid, 'revoke', outcome.problem);
      return { desired: { ...desired, reconciling: outcome.problem }, retryMs: waitMs };
    }
    this.#retries.succeeded(record.uid);
    return { desired: revoked, retryMs: Number.POSITIVE_INFINITY };
  }
}
