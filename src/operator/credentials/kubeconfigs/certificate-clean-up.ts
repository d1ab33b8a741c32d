import { formatTimestamp } from '../../../api/instant.ts';
import { reasons } from '../../../api/reasons.ts';
import type { CredentialRecord } from '../../../credentials/record.ts';
import type { TargetProblem } from '../../../platform/targets/target-problem.ts';
import type { VirtualClusterInstanceRecord } from '../../../platform/targets/target-record.ts';
import type { TargetStores } from '../../../platform/targets/target-stores.ts';
import type { CertificateRevoker, RevokeAttempt } from '../../certificates/certificate-revoker.ts';
import type { RevocationRecords } from '../../certificates/revocation-records.ts';
import { certificateNotRevoked } from '../../shared/events.ts';
import { instanceKeyOf } from '../credential-stores.ts';
import type { Cleaned, Remainder } from '../finalizer.ts';
import { sourceOf } from './certificate-kubeconfig.ts';

export interface CertificateCleanUpOptions {
  readonly targets: Pick<TargetStores, 'instance'>;
  readonly revoker: Pick<CertificateRevoker, 'tryRevoke'>;
  readonly revocations: Pick<RevocationRecords, 'remove'>;
  readonly tries: LastTries;
}

/** Objects whose last try is remembered; beyond it the oldest counts as not tried. */
const maxTries = 20_000;

/** The last try for each object, by UID. */
export class LastTries {
  readonly #tries = new Map<string, RevokeAttempt>();

  put(uid: string, attempt: RevokeAttempt): void {
    this.#tries.delete(uid);
    this.#tries.set(uid, attempt);
    for (const oldest of this.#tries.keys()) {
      if (this.#tries.size <= maxTries) break;
      this.#tries.delete(oldest);
    }
  }

  get(uid: string): RevokeAttempt {
    return this.#tries.get(uid) ?? { problem: untried };
  }
}

/**
 * Cleans up in the virtual cluster of a deleted kubeconfig. What is left inside when the object goes is on record since
 * before it existed, and revoked from that record. So one that is late dials no more: behind a hundred others of a silent
 * cluster, the last would wait ten times its limit.
 */
export async function cleanUpCertificates(
  record: CredentialRecord,
  isLate: boolean,
  { targets, revoker, revocations, tries }: CertificateCleanUpOptions,
): Promise<Cleaned> {
  const { uid } = record;
  const instance = targets.instance(instanceKeyOf(record));
  const problem = await revokeAll(record, instance, {
    tryRevoke: async (...request) => {
      // While the object waits for its Secret nothing more is asked of the virtual cluster.
      if (!isLate && 'problem' in tries.get(uid)) tries.put(uid, await revoker.tryRevoke(...request));
      return tries.get(uid);
    },
  });
  const left = remainderOf({
    problem,
    instance: instance === undefined ? 'gone' : instance.deleted === undefined ? 'present' : 'going',
  });
  const last = tries.get(uid);
  const until = formatTimestamp(record.status.notAfter) ?? 'it ends';
  return {
    left,
    // Only a try says what is revoked, and where: a status may name no certificate because some were left to their record, and the
    // Secret may have led elsewhere meanwhile. What is on record of another authority stays.
    ...(!isLate && 'caFingerprint' in last
      ? { forget: () => revocations.remove({ ownerUID: uid, caFingerprint: last.caFingerprint }) }
      : {}),
    ...(problem && { notice: certificateNotRevoked(until, problem) }),
  };
}

/** Everything, also what was revoked before: someone may have bound a dead certificate again for its holder. */
async function revokeAll(
  { uid, status, kubeConfig }: CredentialRecord,
  instance: VirtualClusterInstanceRecord | undefined,
  revoker: CertificateCleanUpOptions['revoker'],
): Promise<TargetProblem | undefined> {
  const { serial, boundSerials = [] } = status;
  const isCertificate = kubeConfig?.clientCert === true;
  if (!isCertificate || (serial === 0 && boundSerials.length === 0)) return undefined;
  if (instance === undefined) return boundSerials.length === 0 ? undefined : unknownTarget;
  const serials = [...new Set([...boundSerials, serial])].filter((bound) => bound > 0);
  const outcome = await revoker.tryRevoke(sourceOf(instance), { uid, serials, live: [] });
  // Nothing is known to be bound; that one more search was not possible holds nothing up.
  return boundSerials.length > 0 && 'problem' in outcome ? outcome.problem : undefined;
}

const untried: TargetProblem = {
  reason: reasons.targetUnreachable,
  message:
    'There was no try within LATCHKEY_FINALIZER_LIMIT, because others waited for the same virtual cluster. The tries begin now.',
};

const unknownTarget: TargetProblem = {
  reason: reasons.instanceGone,
  message: 'The VirtualClusterInstance is gone, and with it the way to its virtual cluster.',
};

export interface CertificateRemains {
  /** The problem that stops the clean-up; absent: it is done, or there was nothing to do. */
  readonly problem: TargetProblem | undefined;
  /** Whether the instance is there to stay. */
  readonly instance: 'present' | 'going' | 'gone';
}

/**
 * The remainder of a clean-up. Where the virtual cluster is going away, or no one can say any more how to reach it, waiting
 * would only hold up its namespace.
 */
export function remainderOf({ problem, instance }: CertificateRemains): Remainder {
  if (problem === undefined) return 'nothing';
  return instance !== 'present' || problem.reason === reasons.kubeConfigNotFound ? 'hopeless' : 'something';
}
