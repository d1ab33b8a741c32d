import { hash } from 'node:crypto';
import { conditionTypes, findCondition } from '../../../api/conditions.ts';
import { defined } from '../../../api/json.ts';
import type { CredentialRecord } from '../../../credentials/record.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import type { Clock } from '../../../kube/clock.ts';
import type { WorkResult } from '../../../kube/queue/workers.ts';
import type { AdminKubeConfig } from '../../../platform/targets/admin-kubeconfig/admin-kube-config.ts';
import type { TargetClients } from '../../../platform/targets/target-clients.ts';
import type { VirtualClusterInstanceRecord } from '../../../platform/targets/target-record.ts';
import type { TargetStores } from '../../../platform/targets/target-stores.ts';
import type { CertificateIssuer } from '../../certificates/certificate-issuer.ts';
import type { CertificateRevoker } from '../../certificates/certificate-revoker.ts';
import { RetrySchedule } from '../../shared/retry-schedule.ts';
import type { KeyRing } from '../../signing-keys/key-ring.ts';
import { TargetFailure } from '../../targets/target-failure.ts';
import { CredentialReconciler, type Outcome, type ReconcilerServices } from '../credential-reconciler.ts';
import { instanceKeyOf } from '../credential-stores.ts';
import { decisionInput, refuse } from '../decision.ts';
import type { GatewayAddress } from '../gateway-address.ts';
import { confirm } from '../issued/confirm.ts';
import { afterFailedIssue } from '../issued/failed-issue.ts';
import type { IssueCredential, IssuedLimits, MadeCredential } from '../issued/issued-steps.ts';
import {
  type CertificateKubeConfigRequest,
  makeWithCertificate,
  sourceOf,
} from './certificate-kubeconfig.ts';
import { decideKubeConfig } from './decide-kubeconfig.ts';
import type { KubeConfigInput } from './destination.ts';
import { labelProblem, permissionProblem } from './permission.ts';
import { RevokeBeforeCommit } from './revoke-before-commit.ts';
import { makeWithToken } from './token-kubeconfig.ts';

export interface KubeConfigControllerOptions extends ReconcilerServices {
  /** Of our own API server, for access reviews. */
  readonly client: Pick<KubeClient, 'create' | 'get'>;
  readonly targets: Pick<TargetStores, 'instance'>;
  readonly clients: Pick<TargetClients, 'open' | 'known'>;
  readonly revoker: Pick<CertificateRevoker, 'tryRevoke'>;
  readonly issuer: Pick<CertificateIssuer, 'issue'>;
  readonly ring: Pick<KeyRing, 'signer' | 'isRevoked'>;
  readonly gateway: () => GatewayAddress;
  readonly limits: IssuedLimits;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Throws when nothing may be issued now: neither a signature nor an approval can be taken back. */
  readonly assertMayIssue: () => void;
}

type Result = Promise<Outcome<KubeConfigInput>>;

/** Issues, renews, ends and revokes kubeconfigs as the policy decides. */
export class KubeConfigController {
  readonly #options: KubeConfigControllerOptions;
  readonly #retries: RetrySchedule;
  readonly #reconciler: CredentialReconciler<KubeConfigInput, IssueCredential>;

  constructor(options: KubeConfigControllerOptions) {
    this.#options = options;
    const { clock, random, finalizer } = options;
    const retries = new RetrySchedule(clock, { initialMs: 1_000, maxMs: 60_000, random });
    const revoking = new RevokeBeforeCommit(options);
    this.#retries = retries;
    this.#reconciler = new CredentialReconciler({
      ...options,
      kind: 'VirtualClusterInstanceKubeConfig',
      inputOf: (record) => this.#inputOf(record),
      decide: decideKubeConfig,
      issue: (input, step) => this.#issue(input, step),
      revokeBeforeCommit: (record, desired) => revoking.revoke(record, desired),
      finalizer: {
        finalize(record) {
          retries.succeeded(record.uid);
          return finalizer.finalize(record);
        },
      },
    });
  }

  /** By `namespace/name`. */
  reconcile(key: string): Promise<WorkResult | undefined> {
    return this.#reconciler.reconcile(key);
  }

  #inputOf(record: CredentialRecord): KubeConfigInput {
    const { ring, limits, clients, gateway, targets } = this.#options;
    const instance = targets.instance(instanceKeyOf(record));
    const target = instance && clients.known(instance.uid);
    const isCertificate = record.kubeConfig?.clientCert === true;
    const place = gateway();
    const audiences = () => (isCertificate ? undefined : [place.issuer]);
    return {
      ...decisionInput(record, this.#options),
      isPublished: (signingKeyID) =>
        isCertificate || (signingKeyID !== undefined && !ring.isRevoked(signingKeyID)),
      ...{ audiences, unenforcedAudiences: audiences, issuer: place.issuer },
      ...defined({ instance, targetCA: target?.ca }),
      limits,
      gateway: place,
    };
  }

  async #issue(input: KubeConfigInput, issue: IssueCredential): Result {
    const { record, instance } = input;
    const { client, assertMayIssue, clients, writer } = this.#options;
    // The policy has refused what has none; this is for the compiler.
    if (instance === undefined) throw new RangeError('a kubeconfig without an instance');
    const isCertificate = record.kubeConfig?.clientCert === true;
    const attempt = attemptKey(input, issue, clients.known(instance.uid));
    const failed = this.#retries.waiting(record.uid, attempt);
    // Opening reads a Secret of the platform and dials nothing, so it may go beside the question who may have it.
    const opening = isCertificate && failed === undefined ? clients.open(sourceOf(instance)) : undefined;
    // A refusal is acted on also while the Secret cannot be read.
    opening?.catch(() => undefined);
    const denial = await permissionProblem(client, record, issue.identity, instance);
    if (denial !== undefined) return { record, commit: afterFailedIssue(input, issue, denial) };
    if (failed !== undefined) {
      const commit = afterFailedIssue(input, issue, { ...failed.problem, final: false });
      return { record, commit, retryMs: failed.waitMs };
    }
    await writer.assertAdmitted(record);
    assertMayIssue();
    const opened = await opening;
    return opened === undefined
      ? this.#issueToken(input, issue, instance)
      : this.#issueCertificate(input, { issue, instance, opened }, attempt);
  }

  async #issueToken(
    input: KubeConfigInput,
    issue: IssueCredential,
    instance: VirtualClusterInstanceRecord,
  ): Result {
    const { client, ring } = this.#options;
    const { record, gateway } = input;
    const problem = await labelProblem(client, record, gateway);
    if (problem !== undefined) return { record, commit: afterFailedIssue(input, issue, problem) };
    const { signer } = ring;
    // Both bring every kubeconfig again: the ring when there is a key, the gateway when its authority is known.
    if (signer === undefined || gateway.isCAPending === true) return undefined;
    const made = makeWithToken({ record, issue, instance, gateway, signer });
    if ('problem' in made) return { record, commit: refuse(input, made.problem) };
    return confirm(this.#options, input, made);
  }

  async #issueCertificate(
    input: KubeConfigInput,
    request: Pick<CertificateKubeConfigRequest, 'issue' | 'instance' | 'opened'>,
    attempt: string,
  ): Result {
    const { record, now } = input;
    let made: MadeCredential;
    try {
      made = await makeWithCertificate(this.#options, { ...request, record, now });
    } catch (error) {
      if (!(error instanceof TargetFailure)) throw error;
      const { problem, waitMs } = this.#retries.failed(record.uid, attempt, error.problem);
      return this.#afterFailure(
        record,
        (present) => afterFailedIssue(present, request.issue, { ...problem, final: false }),
        waitMs,
      );
    }
    this.#retries.succeeded(record.uid);
    return confirm(this.#options, input, made);
  }

  /** The failed try wrote to status itself. Someone may have changed the spec since, which another decision must judge. */
  async #afterFailure(
    { key, uid, generation }: CredentialRecord,
    commitOf: (input: KubeConfigInput) => ReturnType<typeof afterFailedIssue>,
    retryMs: number,
  ): Result {
    const record = this.#options.stores.kubeConfig(key);
    const isSame = record?.uid === uid && record.generation === generation && record.deleted === undefined;
    if (record === undefined || !isSame) return { requeueAfterMs: 0 };
    return { record, commit: commitOf(this.#inputOf(record)), retryMs };
  }
}

/** The facts that a try to issue depends on, as one hash: when it changes, the next try need not wait. */
function attemptKey(
  { record, instance }: KubeConfigInput,
  { keepPrevious }: IssueCredential,
  target: AdminKubeConfig | undefined,
): string {
  const ready = findCondition(instance?.conditions ?? [], conditionTypes.ready)?.status;
  const parts = [
    [record.generation, record.rotate, keepPrevious],
    [instance?.uid, instance?.generation, ready],
    target,
  ];
  return hash('sha256', JSON.stringify(parts), 'hex');
}
