import { finalizers, purposes } from '../../../api/names.ts';
import { reasons } from '../../../api/reasons.ts';
import type { CredentialRecord } from '../../../credentials/record.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import type { Clock } from '../../../kube/clock.ts';
import type { WorkResult } from '../../../kube/queue/workers.ts';
import type { TargetClients } from '../../../platform/targets/target-clients.ts';
import type { VirtualClusterInstanceRecord } from '../../../platform/targets/target-record.ts';
import type { TargetStores } from '../../../platform/targets/target-stores.ts';
import type { CertificateIssuer } from '../../certificates/certificate-issuer.ts';
import type { CertificateRevoker } from '../../certificates/certificate-revoker.ts';
import { requeueAt } from '../../shared/controller.ts';
import { RetrySchedule } from '../../shared/retry-schedule.ts';
import type { KeyRing } from '../../signing-keys/key-ring.ts';
import { TargetFailure } from '../../targets/target-failure.ts';
import type { CredentialStores } from '../credential-stores.ts';
import type { CredentialWriter } from '../credential-writer.ts';
import type { ExpiryBudget } from '../expiry-budget.ts';
import { instanceKeyOf } from '../instance-key.ts';
import type { IssuedLimits } from '../issued/input.ts';
import { refuseIssued } from '../issued/policy.ts';
import { issuedStatus } from '../issued/status.ts';
import type { IssueCredential, SettleCredential } from '../issued/step.ts';
import { isNewEnd } from '../new-end.ts';
import { secretKeyOf } from '../owned-secrets.ts';
import type { SecretWriter } from '../secret-writer.ts';
import { basisOf } from './attempt-key.ts';
import { makeWithCertificate } from './certificate-kubeconfig.ts';
import type { KubeConfigFinalizer } from './finalizer.ts';
import type { GatewayPlace, KubeConfigInput } from './input.ts';
import type { MadeKubeConfig } from './issued-kubeconfig.ts';
import { denialOf } from './permission.ts';
import { decideKubeConfig, insteadOf } from './policy.ts';
import { unlabelled } from './project-label.ts';
import { RevokeBeforeCommit } from './revoke-before-commit.ts';
import { makeWithToken } from './token-issuer.ts';

export interface KubeConfigControllerOptions {
  /** Of our own API server, for access reviews. */
  readonly client: Pick<KubeClient, 'create' | 'get'>;
  readonly stores: CredentialStores;
  readonly targets: Pick<TargetStores, 'instance'>;
  readonly clients: Pick<TargetClients, 'open' | 'known'>;
  readonly revoker: CertificateRevoker;
  readonly issuer: Pick<CertificateIssuer, 'issue'>;
  readonly writer: CredentialWriter;
  readonly secrets: SecretWriter;
  readonly finalizer: Pick<KubeConfigFinalizer, 'finalize'>;
  readonly ring: Pick<KeyRing, 'signer' | 'isPublished'>;
  readonly expiryBudget: ExpiryBudget;
  readonly gateway: GatewayPlace;
  readonly limits: IssuedLimits;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Since when the policies stamp who asks, epoch milliseconds; 0 while that is not known. */
  readonly trustedSince: () => number;
  /** Throws when nothing may be issued now: neither a signature nor an approval can be taken back. */
  readonly assertMayIssue: () => void;
}

/** Issues, renews, ends and revokes kubeconfigs as the policy decides. */
export class KubeConfigController {
  readonly #options: KubeConfigControllerOptions;
  readonly #retries: RetrySchedule;
  readonly #revoking: RevokeBeforeCommit;

  constructor(options: KubeConfigControllerOptions) {
    this.#options = options;
    const { clock, random } = options;
    this.#retries = new RetrySchedule(clock, { initialMs: 1_000, maxMs: 60_000, random });
    this.#revoking = new RevokeBeforeCommit(options);
  }

  /** Level-based: `namespace/name` says which kubeconfig to look at, never what happened to it. */
  async reconcile(key: string): Promise<WorkResult | undefined> {
    const { stores, writer, finalizer } = this.#options;
    const known = stores.kubeConfig(key);
    const record = known && (await writer.certain(known));
    if (record === undefined) return undefined;
    if (record.deleted === undefined) return this.#advance(record);
    this.#retries.succeeded(record.uid);
    return finalizer.finalize(record);
  }

  async #advance(record: CredentialRecord, issued = false): Promise<WorkResult | undefined> {
    const { writer, clock } = this.#options;
    const input = this.#input(record);
    const step = decideKubeConfig(input);
    // A status that does not keep what was confirmed must not mint kubeconfigs in a loop.
    if (step.step === 'issue' && issued) throw new RangeError('the policy for kubeconfigs does not settle');
    switch (step.step) {
      case 'addFinalizer':
        return this.#advance(await writer.addFinalizer(record, finalizers.VirtualClusterInstanceKubeConfig));
      case 'delete':
        return void (await writer.delete(record));
      case 'wait':
        return requeueAt(step.requeueAt, clock.now());
      case 'issue':
        return this.#issue(input, step);
      case 'settle':
        return this.#settle(record, step);
    }
  }

  #input(record: CredentialRecord): KubeConfigInput {
    const { stores, ring, clock, limits, clients, gateway, trustedSince } = this.#options;
    const secretKey = secretKeyOf(record);
    const secret = secretKey === undefined ? undefined : stores.secret(secretKey);
    const instance = this.#options.targets.instance(instanceKeyOf(record));
    const target = instance && clients.known(instance.uid);
    const isCertificate = record.kubeConfig?.clientCert === true;
    return {
      record,
      lookup: (name) => stores.key(name),
      isPublished: (keyID) => isCertificate || ring.isPublished(keyID),
      ...(secret === undefined ? {} : { secret }),
      ownSecrets: stores.secretsOf(record.uid, purposes.credential),
      ...(instance === undefined ? {} : { instance }),
      ...(target === undefined ? {} : { targetCA: target.ca }),
      now: clock.now(),
      trustedSince: trustedSince(),
      limits,
      gateway,
      credentialByUID: (uid) => stores.byUID(uid)[0],
    };
  }

  async #issue(input: KubeConfigInput, issue: IssueCredential): Promise<WorkResult | undefined> {
    const { record, instance } = input;
    const { client, assertMayIssue, clients, writer } = this.#options;
    // The policy has refused what has none; this is for the compiler.
    if (instance === undefined) throw new RangeError('a kubeconfig without an instance');
    const denial = await denialOf(client, record, issue.identity, instance);
    if (denial !== undefined) return this.#settle(record, insteadOf(input, issue, denial));
    const basis = basisOf(input, issue, clients.known(instance.uid));
    const failed = this.#retries.waiting(record.uid, basis);
    if (failed !== undefined) {
      const instead = insteadOf(input, issue, { ...failed.problem, final: false });
      return this.#settle(record, instead, failed.waitMs);
    }
    await writer.assertAdmitted(record);
    assertMayIssue();
    if (record.kubeConfig?.clientCert === true) return this.#issueCertificate(input, issue, basis);
    return this.#issueToken(input, issue, instance);
  }

  async #issueToken(
    input: KubeConfigInput,
    issue: IssueCredential,
    instance: VirtualClusterInstanceRecord,
  ): Promise<WorkResult | undefined> {
    const { client, ring, gateway } = this.#options;
    const { record } = input;
    const problem = await unlabelled(client, record, gateway);
    if (problem !== undefined) return this.#settle(record, insteadOf(input, issue, problem));
    const { signer } = ring;
    // The ring brings every kubeconfig again when there is a key.
    if (signer === undefined) return undefined;
    const made = makeWithToken({ record, issue, instance, gateway, signer });
    if ('problem' in made) return this.#settle(record, refuseIssued(input, made.problem));
    return this.#confirm(input, made);
  }

  async #issueCertificate(
    input: KubeConfigInput,
    issue: IssueCredential,
    basis: string,
  ): Promise<WorkResult | undefined> {
    const { record, instance, now } = input;
    if (instance === undefined) return undefined;
    let made: MadeKubeConfig;
    try {
      made = await makeWithCertificate(this.#options, { record, issue, instance, now });
    } catch (error) {
      if (!(error instanceof TargetFailure)) throw error;
      const { problem, waitMs } = this.#retries.failed(record.uid, basis, error.problem);
      return this.#afterFailure(
        record,
        (fresh) => insteadOf(fresh, issue, { ...problem, final: false }),
        waitMs,
      );
    }
    this.#retries.succeeded(record.uid);
    return this.#confirm({ ...input, record: made.record }, made);
  }

  /** The failed try wrote to status itself. Somebody may have changed the spec since, which another look must judge. */
  async #afterFailure(
    { key, uid, generation }: CredentialRecord,
    stepOf: (input: KubeConfigInput) => SettleCredential,
    waitMs: number,
  ): Promise<WorkResult | undefined> {
    const record = this.#options.stores.kubeConfig(key);
    const isSame = record?.uid === uid && record.generation === generation && record.deleted === undefined;
    if (record === undefined || !isSame) return { requeueAfterMs: 0 };
    return this.#settle(record, stepOf(this.#input(record)), waitMs);
  }

  async #confirm(input: KubeConfigInput, made: MadeKubeConfig): Promise<WorkResult | undefined> {
    const { secrets, writer } = this.#options;
    const { record, issue, issued } = made;
    if (record.secretRef !== undefined) {
      const problem = await secrets.write(record, issue.serial, issued.document);
      if (problem !== undefined) {
        const final = problem.reason === reasons.secretConflict;
        return this.#settle(record, refuseIssued(input, { ...problem, final }));
      }
    }
    const written = await writer.writeStatus(record, issuedStatus(input, issue, issued), issue.cause);
    return this.#advance(written, true);
  }

  async #settle(
    record: CredentialRecord,
    step: SettleCredential,
    retryMs = Number.POSITIVE_INFINITY,
  ): Promise<WorkResult | undefined> {
    const { writer, secrets, clock, expiryBudget } = this.#options;
    const { desired, retryMs: again } = await this.#revoking.revoke(record, step.desired);
    const waitMs = isNewEnd(record, desired) ? expiryBudget.reserve(record.uid) : 0;
    if (waitMs > 0) return { requeueAfterMs: waitMs };
    await writer.writeStatus(record, desired);
    await secrets.deleteAll(step.staleSecrets);
    const soonest = Math.min(
      requeueAt(step.requeueAt, clock.now())?.requeueAfterMs ?? Infinity,
      again,
      retryMs,
    );
    return Number.isFinite(soonest) ? { requeueAfterMs: soonest } : undefined;
  }
}
