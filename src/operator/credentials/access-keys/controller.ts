import { namespaces } from '../../../api/resources.ts';
import { accessKeyBytes, generateAccessKey } from '../../../credentials/keys/access-key.ts';
import { credentialHash } from '../../../credentials/keys/credential-hash.ts';
import type { CredentialRecord, NamespacePin } from '../../../credentials/record.ts';
import type { KubeClient } from '../../../kube/client/client.ts';
import { ignoreNotFound } from '../../../kube/kube-error.ts';
import type { WorkResult } from '../../../kube/queue/workers.ts';
import { CredentialReconciler, type Outcome, type ReconcilerServices } from '../credential-reconciler.ts';
import { decisionInput } from '../decision.ts';
import { decideKey } from './decide-key.ts';
import type { KeyInput, KeyIssueStep, KeyLimits } from './key-steps.ts';
import type { LoginSecrets } from './login-secrets.ts';
import { pinsOf } from './namespace-pins.ts';

export interface AccessKeyControllerOptions extends ReconcilerServices {
  readonly client: Pick<KubeClient, 'get'>;
  readonly loginSecrets: LoginSecrets;
  readonly limits: KeyLimits;
  readonly randomBytes: (count: number) => Uint8Array;
}

/** Confirms, makes, rotates and ends access keys as the policy decides. */
export class AccessKeyController {
  readonly #options: AccessKeyControllerOptions;
  readonly #reconciler: CredentialReconciler<KeyInput, KeyIssueStep>;

  constructor(options: AccessKeyControllerOptions) {
    this.#options = options;
    const { stores, limits } = options;
    this.#reconciler = new CredentialReconciler({
      ...options,
      kind: 'OwnedAccessKey',
      inputOf: (record): KeyInput => ({
        ...decisionInput(record, options),
        claimants: (hash) => stores.byHash(hash),
        limits,
      }),
      decide: decideKey,
      issue: ({ record }, step) => this.#issue(record, step),
    });
  }

  reconcile(name: string): Promise<WorkResult | undefined> {
    return this.#reconciler.reconcile(name);
  }

  async #issue(record: CredentialRecord, step: KeyIssueStep): Promise<Outcome<KeyInput>> {
    const { writer, loginSecrets, expiryBudget } = this.#options;
    switch (step.step) {
      case 'moveLoginSecrets':
        return { record: await loginSecrets.move(record) };
      case 'pinNamespaces':
        return { record: await this.#pinNamespaces(record, step.names) };
      case 'generateIntoSpec':
        await writer.assertAdmitted(record);
        return { record: await writer.patchSpec(record, { key: this.#generate() }) };
      case 'writeSecret':
        return this.#writeSecret(record, step);
      case 'disable': {
        const waitMs = expiryBudget.reserve(record.uid);
        if (waitMs > 0) return { requeueAfterMs: waitMs };
        return { record: await writer.patchSpec(record, { disabled: true }) };
      }
      case 'enable':
        return { record: await writer.patchSpec(record, { disabled: false }) };
    }
  }

  async #writeSecret(
    record: CredentialRecord,
    { serial, state }: Extract<KeyIssueStep, { step: 'writeSecret' }>,
  ): Promise<Outcome<KeyInput>> {
    const { secrets, writer } = this.#options;
    await writer.assertAdmitted(record);
    const key = this.#generate();
    const secretProblem = await secrets.write(record, { serial, credential: key, state });
    if (secretProblem !== undefined) return { record, found: { secretProblem } };
    return { record, found: { written: { hash: credentialHash(key), serial } } };
  }

  async #pinNamespaces(record: CredentialRecord, names: readonly string[]): Promise<CredentialRecord> {
    const find = async (name: string): Promise<NamespacePin> => {
      const found = await this.#options.client.get(namespaces, { name }).catch(ignoreNotFound);
      return found === undefined ? { name } : { name, uid: found.metadata.uid };
    };
    const found = await Promise.all(names.map(find));
    return this.#options.writer.writePins(record, [...pinsOf(record), ...found]);
  }

  #generate(): string {
    return generateAccessKey(this.#options.randomBytes(accessKeyBytes));
  }
}
