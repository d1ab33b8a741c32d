import type { CredentialRecord } from '../../../credentials/record.ts';
import type { Clock } from '../../../kube/clock.ts';
import type { TargetStores } from '../../../platform/targets/target-stores.ts';
import { RetryTimes } from '../../certificates/retry-times.ts';
import { deadSerials, liveSerials, withoutDead } from '../../certificates/serials.ts';
import type { Withdrawals } from '../../certificates/withdrawals.ts';
import type { DesiredStatus } from '../desired-status.ts';
import { instanceKeyOf } from '../instance-key.ts';
import { sourceOf } from './certificate-issuer.ts';

export interface StatusSettlingOptions {
  readonly targets: Pick<TargetStores, 'instance'>;
  readonly withdrawals: Withdrawals;
  readonly clock: Clock;
  readonly random: () => number;
}

interface Settled {
  readonly desired: DesiredStatus;
  /** When to try again, milliseconds; infinite: nothing is left to do. */
  readonly retryMs: number;
}

/** Brings the virtual cluster in line with a status before that is written: what narrows comes first. */
export class StatusSettling {
  readonly #options: StatusSettlingOptions;
  readonly #retries: RetryTimes;

  constructor(options: StatusSettlingOptions) {
    this.#options = options;
    const { clock, random } = options;
    this.#retries = new RetryTimes(clock, { initialMs: 1_000, maxMs: 60_000, random });
  }

  /**
   * The status that is true once the certificates which it gives no life are withdrawn, or could not be. An instance
   * that is going is not held up: what status does not name any more is withdrawn by the record of it.
   */
  async withdraw(record: CredentialRecord, wanted: DesiredStatus): Promise<Settled> {
    const { targets, withdrawals, clock } = this.#options;
    const auth = record.kubeConfig?.clientCert === true ? 'ClientCertificate' : 'Token';
    const confirmation = { ...wanted.confirmation, auth } as const;
    const desired = { ...wanted, confirmation };
    const live = liveSerials(confirmation, clock.now());
    const serials = auth === 'Token' ? [] : deadSerials(record, live);
    const instance = targets.instance(instanceKeyOf(record));
    if (serials.length === 0) return { desired, retryMs: Number.POSITIVE_INFINITY };
    const withdrawn = { ...desired, confirmation: withoutDead(confirmation, live) };
    // Where its virtual cluster was, the record knows that was written before any certificate: it acts when status names none.
    const { instanceUID = instance?.uid } = record.status;
    if (instance === undefined || instance.uid !== instanceUID)
      return { desired: live.length === 0 ? withdrawn : desired, retryMs: Number.POSITIVE_INFINITY };
    const problem = await withdrawals.tryIn(sourceOf(instance), { uid: record.uid, serials, live });
    const isLast = live.length === 0 && instance.deleted !== undefined;
    if (problem !== undefined && !isLast) {
      const { waitMs } = this.#retries.failed(record.uid, 'withdrawal', problem);
      return { desired: { ...desired, reconciling: problem }, retryMs: waitMs };
    }
    this.#retries.succeeded(record.uid);
    return { desired: withdrawn, retryMs: Number.POSITIVE_INFINITY };
  }
}
