import { finalizers, purposes } from '../../../api/names.ts';
import { accessKeyBytes, generateAccessKey } from '../../../credentials/keys/access-key.ts';
import { credentialHash } from '../../../credentials/keys/credential-hash.ts';
import type { CredentialRecord } from '../../../credentials/record.ts';
import type { WorkResult } from '../../../kube/queue/workers.ts';
import { requeueAt } from '../../shared/controller.ts';
import type { CredentialStores } from '../credential-stores.ts';
import type { CredentialWriter } from '../credential-writer.ts';
import type { ExpiryBudget } from '../expiry-budget.ts';
import type { Finalizer } from '../finalizer.ts';
import { isNewEnd } from '../new-end.ts';
import { secretKeyOf } from '../owned-secrets.ts';
import type { SecretWriter } from '../secret-writer.ts';
import type { KeyInput, KeyLimits } from './input.ts';
import type { LoginSecrets } from './login-secrets.ts';
import { decideKey } from './policy.ts';
import type { KeyStep, SettleKey } from './step.ts';

export interface AccessKeyControllerOptions {
  readonly stores: CredentialStores;
  readonly writer: CredentialWriter;
  readonly secrets: SecretWriter;
  readonly loginSecrets: LoginSecrets;
  readonly finalizer: Finalizer;
  readonly expiryBudget: ExpiryBudget;
  readonly limits: KeyLimits;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Since when the policies stamp who asks, epoch milliseconds; 0 while that is not known. */
  readonly trustedSince: () => number;
  readonly randomBytes: (count: number) => Uint8Array;
}

/** What earlier steps of the same reconcile found out and no object holds. */
type Findings = Pick<KeyInput, 'written' | 'secretProblem'>;

/** More steps than any key needs; a decision that never settles is a mistake that must not spin. */
const maxSteps = 10;

/** Does what the policy decides, one write after the other, until status says what is true. */
export class AccessKeyController {
  readonly #options: AccessKeyControllerOptions;

  constructor(options: AccessKeyControllerOptions) {
    this.#options = options;
  }

  /** Level-based: `name` says which key to look at, never what happened to it. */
  async reconcile(name: string): Promise<WorkResult | undefined> {
    const { stores, finalizer, writer } = this.#options;
    const known = stores.key(name);
    const record = known && (await writer.certain(known));
    if (record === undefined) return undefined;
    return record.deleted === undefined
      ? this.#advance(record, {}, maxSteps)
      : finalizer.finalize(record, finalizers.OwnedAccessKey);
  }

  async #advance(
    record: CredentialRecord,
    findings: Findings,
    stepsLeft: number,
  ): Promise<WorkResult | undefined> {
    const step = decideKey(this.#input(record, findings));
    if (step.step === 'settle') return this.#settle(record, step);
    if (step.step === 'delete') return void (await this.#options.writer.delete(record));
    if (step.step === 'wait') return requeueAt(step.requeueAt, this.#options.now());
    const waitMs = step.step === 'disable' ? this.#options.expiryBudget.reserve(record.uid) : 0;
    if (waitMs > 0) return { requeueAfterMs: waitMs };
    if (stepsLeft === 0) throw new RangeError('the policy for access keys does not settle');
    return step.step === 'writeSecret'
      ? this.#advance(record, await this.#writeSecret(record, step.serial), stepsLeft - 1)
      : this.#advance(await this.#write(record, step), findings, stepsLeft - 1);
  }

  #input(record: CredentialRecord, findings: Findings): KeyInput {
    const { stores, now, limits } = this.#options;
    const secretKey = secretKeyOf(record);
    const secret = secretKey === undefined ? undefined : stores.secret(secretKey);
    return {
      record,
      lookup: (name) => stores.key(name),
      credentialByUID: (uid) => stores.byUID(uid)[0],
      claimants: (hash) => stores.keysByHash(hash),
      ...(secret === undefined ? {} : { secret }),
      ownSecrets: stores.secretsOf(record.uid, purposes.credential),
      ...findings,
      now: now(),
      trustedSince: this.#options.trustedSince(),
      limits,
    };
  }

  async #write(record: CredentialRecord, { step }: KeyStep): Promise<CredentialRecord> {
    const { writer, loginSecrets, randomBytes } = this.#options;
    switch (step) {
      case 'addFinalizer':
        return writer.addFinalizer(record, finalizers.OwnedAccessKey);
      case 'moveLoginSecrets':
        return loginSecrets.move(record);
      case 'generateIntoSpec':
        await writer.assertAdmitted(record);
        return writer.patchSpec(record, { key: generateAccessKey(randomBytes(accessKeyBytes)) });
      case 'disable':
        return writer.patchSpec(record, { disabled: true });
      case 'enable':
        return writer.patchSpec(record, { disabled: null });
      default:
        throw new TypeError(`${step} is no write to the object`);
    }
  }

  async #writeSecret(record: CredentialRecord, serial: number): Promise<Findings> {
    const { secrets, writer, randomBytes } = this.#options;
    await writer.assertAdmitted(record);
    const key = generateAccessKey(randomBytes(accessKeyBytes));
    const secretProblem = await secrets.write(record, serial, key);
    return secretProblem === undefined
      ? { written: { hash: credentialHash(key), serial } }
      : { secretProblem };
  }

  async #settle(record: CredentialRecord, step: SettleKey): Promise<WorkResult | undefined> {
    const { writer, secrets, now, expiryBudget } = this.#options;
    // What `disable` wrote has had its turn.
    const waits = isNewEnd(record, step.desired) && record.disabledOwner !== 'operator';
    const waitMs = waits ? expiryBudget.reserve(record.uid) : 0;
    if (waitMs > 0) return { requeueAfterMs: waitMs };
    await writer.writeStatus(record, step.desired, step.successor);
    await secrets.deleteAll(step.staleSecrets);
    expiryBudget.forget(record.uid);
    return requeueAt(step.requeueAt, now());
  }
}
